/* Images by sharp (libvips), several at a time; all are dropped. Says "ready" and waits. */
const sharp = require(process.env.REMEDY_BIN + '/node_modules/sharp');
sharp.cache(false);

async function image(seed) {
  const width = 900 + (seed * 137) % 900, height = 700 + (seed * 71) % 700;
  const raw = Buffer.alloc(width * height * 3, seed % 251);
  const source = sharp(raw, { raw: { width, height, channels: 3 } });
  const jpeg = await source.resize(width * 2).rotate(seed % 2 ? 90 : 0).jpeg().toBuffer();
  return (await sharp(jpeg).blur(3).resize(300).png().toBuffer()).length;
}

async function main() {
  let total = 0;
  for (let batch = 0; batch < 6; batch++) {
    const sizes = await Promise.all([...Array(8).keys()].map((i) => image(batch * 8 + i)));
    total += sizes.reduce((a, b) => a + b, 0);
  }
  if (global.gc) { global.gc(); global.gc(); }
  setTimeout(() => console.log('ready'), 500);
  setInterval(() => {}, 1000000000);
}
main();
