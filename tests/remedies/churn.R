# Vectors of mixed sizes; nearly all are dropped, and a few small ones of the end live on.
set.seed(7)
load <- lapply(1:4000, function(i) numeric(if (i %% 10 < 8) 200 + i else 4000 + 3 * i))
kept <- load[seq(1, 4000, by = 97)]
small <- lapply(1:20, function(i) numeric(30))
kept <- lapply(kept, function(v) v[1:40] + 1)
rm(load)
invisible(gc())
cat("ready\n")
flush(stdout())
Sys.sleep(1e6)
