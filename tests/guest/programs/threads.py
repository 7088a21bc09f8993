# Threads of Python: the output is the same on every host.
import concurrent.futures
import queue
import signal
import threading
import time

total = 0
lock = threading.Lock()


def add(count):
    global total
    for _ in range(count):
        with lock:
            total += 1


threads = [threading.Thread(target=add, args=(500,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("total", total)

with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
    print(list(pool.map(lambda n: n * n, range(20))))
    futures = [pool.submit(divmod, 100, n) for n in (7, 0)]
    print(futures[0].result(), type(futures[1].exception()).__name__)

jobs = queue.Queue()
done = []


def worker():
    while (job := jobs.get()) is not None:
        done.append(job)
        jobs.task_done()


thread = threading.Thread(target=worker)
thread.start()
for n in range(50):
    jobs.put(n)
jobs.join()
jobs.put(None)
thread.join()
print("queue", sum(done))

ready = threading.Event()
threading.Timer(0.01, ready.set).start()
print("event", ready.wait(5), threading.Event().wait(0.01))

barrier = threading.Barrier(3)
local = threading.local()
order = []


def meet(n):
    local.number = n
    barrier.wait()
    order.append(local.number)


threads = [threading.Thread(target=meet, args=(n,)) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("barrier", sorted(order))


def spin(stop):
    n = 0
    while not stop.is_set():
        n += 1
    return n


stop = threading.Event()
with concurrent.futures.ThreadPoolExecutor() as pool:
    spinning = pool.submit(spin, stop)
    time.sleep(0.02)
    stop.set()
    print("spun", spinning.result() > 0)


class TooLong(Exception):
    pass


def ring(number, frame):
    raise TooLong


signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    while True:
        pass
except TooLong:
    print("too long")
signal.alarm(1)
try:
    time.sleep(100)
except TooLong:
    print("slept too long")
