"""asyncio: tasks, queues, locks, timeouts, streams of a subprocess-free kind."""
import asyncio


async def worker(name, queue, seen):
    while True:
        item = await queue.get()
        await asyncio.sleep(0.001 * (item % 3))
        seen.append(item * item)
        queue.task_done()


async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def main():
    queue, seen = asyncio.Queue(maxsize=5), []
    workers = [asyncio.create_task(worker(i, queue, seen)) for i in range(3)]
    for i in range(20):
        await queue.put(i)
    await queue.join()
    for task in workers:
        task.cancel()
    print(sorted(seen), await asyncio.gather(*workers, return_exceptions=True))
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except asyncio.TimeoutError:
        print("timeout")
    lock, event = asyncio.Lock(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.002, event.set)
    async with lock:
        await event.wait()
    print([i async for i in ticker(4)], await asyncio.to_thread(sum, range(100)))


asyncio.run(main())
