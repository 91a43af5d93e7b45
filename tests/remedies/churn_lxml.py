"""Trees of lxml, whose nodes are malloc's; nearly all are dropped, some small ones live on."""
import gc
import sys
import time

from lxml import etree


def document(rows, seed):
    return ("<orders>" + "".join(
        f'<order id="{seed}-{i}" state="{i % 7}"><name>customer {i * seed % 1000}</name>'
        f"<note>{'n' * (i * 37 % 400)}</note></order>" for i in range(rows)) + "</orders>").encode()


kept = []
for turn in range(3):
    trees = []
    for seed in range(1, 40):
        trees.append(etree.fromstring(document(3000, seed)))
        if seed % 4 == 0:
            kept.append(etree.fromstring(document(2, seed)))
    del trees
gc.collect()
print("ready")
sys.stdout.flush()
time.sleep(1e6)
