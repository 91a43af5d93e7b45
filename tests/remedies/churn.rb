# Threads of Ruby fill buffers of mixed sizes and drop nearly all of them. Says "ready" and waits.
$kept = Queue.new

def work(worker)
  random = Random.new(worker)
  3.times do
    buffers = Array.new(400) do
      "r" * (random.rand(10) < 8 ? 500 + random.rand(6_000) : 8_000 + random.rand(60_000))
    end
    Thread.pass
    $kept << buffers[random.rand(400)]
  end
end

threads = Array.new(32) do |worker|
  Thread.new do
    work(worker)
    GC.start if worker == 31
    sleep
  end
end
sleep 0.05 until threads.all? { |thread| thread.status == "sleep" }
GC.start
GC.start
STDOUT.puts "ready"
STDOUT.flush
sleep
