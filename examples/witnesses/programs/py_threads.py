"""threading, queue, concurrent.futures, locals."""
import concurrent.futures
import queue
import threading

total, lock, barrier = [0], threading.Lock(), threading.Barrier(4)
local = threading.local()


def add(number):
    local.own = number
    for _ in range(2000):
        with lock:
            total[0] += local.own
    barrier.wait()


threads = [threading.Thread(target=add, args=(i,)) for i in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(total)
jobs, done = queue.Queue(), queue.SimpleQueue()


def serve():
    while (job := jobs.get()) is not None:
        done.put(job**2)


servers = [threading.Thread(target=serve, daemon=True) for _ in range(3)]
[server.start() for server in servers]
[jobs.put(i) for i in range(100)]
[jobs.put(None) for _ in servers]
[server.join() for server in servers]
print(sum(done.get() for _ in range(100)))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda n: n * n, range(10))), pool.submit(pow, 2, 10).result())
timer, fired = threading.Event(), []
threading.Timer(0.005, lambda: (fired.append(1), timer.set())).start()
print(timer.wait(5), fired, threading.active_count() >= 1)
