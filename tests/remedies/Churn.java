/*
 * Native memory of a JVM: threads compress, and drop nearly all of their Deflaters, whose state is
 * malloc's; a few live on. Says "ready" and waits.
 */
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public class Churn {
    static final List<Deflater> kept = new ArrayList<>();

    static void work(int worker, CyclicBarrier full, CyclicBarrier idle) throws Exception {
        Random random = new Random(worker);
        byte[] text = new byte[20000], packed = new byte[40000];
        random.nextBytes(text);
        List<Deflater> busy = new ArrayList<>();
        List<Inflater> readers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Deflater deflater = new Deflater(1 + random.nextInt(9));
            deflater.setInput(text);
            deflater.finish();
            deflater.deflate(packed);
            busy.add(deflater);
            Inflater inflater = new Inflater();
            inflater.setInput(packed);
            inflater.inflate(new byte[1000]);
            readers.add(inflater);
        }
        full.await();
        for (Inflater inflater : readers)
            inflater.end();
        for (int i = 0; i < busy.size(); i++) {
            if (i == 17)
                synchronized (kept) {
                    kept.add(busy.get(i));
                }
            else
                busy.get(i).end();
        }
        idle.await();
        Thread.sleep(1000000000L);
    }

    public static void main(String[] arguments) throws Exception {
        int threads = 16;
        CyclicBarrier full = new CyclicBarrier(threads), idle = new CyclicBarrier(threads + 1);
        for (int i = 0; i < threads; i++) {
            int worker = i;
            Thread thread = new Thread(() -> {
                try {
                    work(worker, full, idle);
                } catch (Exception e) {
                    e.printStackTrace();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        idle.await();
        System.out.println("ready");
        Thread.sleep(1000000000L);
    }
}
