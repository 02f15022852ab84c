# Run once, by futures.ts, in a module that all JavaScript threads share.
import asyncio, atexit, concurrent.futures, inspect, threading

lock = threading.Lock()
running = None
pending = {}

def run(loop, started):
    asyncio.set_event_loop(loop)
    loop.call_soon(started.set)
    while True:
        try:
            return loop.run_forever()
        except BaseException:
            pass  # a SystemExit in a coroutine leaves the loop, and the promise is rejected with it

def stop(loop, thread):
    loop.call_soon_threadsafe(loop.stop)
    thread.join(1)

def the_loop():
    global running
    with lock:
        if running is None:
            loop, started = asyncio.new_event_loop(), threading.Event()
            thread = threading.Thread(target=run, args=(loop, started), name='dlpack-asyncio', daemon=True)
            thread.start()
            started.wait()
            atexit.register(stop, loop, thread)
            running = loop
    return running

async def finish(awaitable):
    return await awaitable

steps = {}  # tasks that wait for the next element of an iterator
reasons = {}  # the errors of tasks that stop_steps cancels

async def step(iterator):
    task = asyncio.current_task()
    steps[task] = iterator
    try:
        return await type(iterator).__anext__(iterator)
    except asyncio.CancelledError:
        if task not in reasons:
            raise
        raise reasons[task] from None
    finally:
        del steps[task]
        reasons.pop(task, None)

async def cancel(tasks, error, seconds):
    for task in tasks:
        if task.cancel():
            reasons[task] = error
    await asyncio.wait(tasks, timeout=seconds)

def stop_steps(is_affected, error, seconds=5):
    """Ends the waiting for the next element of these iterators with an error. Waits until it has ended, but not longer
    than this time for a task that goes on, and twice this time for a loop that a coroutine blocks."""
    tasks = [task for task, iterator in list(steps.items()) if is_affected(iterator)]
    if tasks:
        try:
            asyncio.run_coroutine_threadsafe(cancel(tasks, error, seconds), the_loop()).result(2 * seconds)
        except concurrent.futures.TimeoutError:
            pass

def future_of(awaitable):
    if hasattr(awaitable, 'add_done_callback'):
        return awaitable
    if callable(getattr(type(awaitable), 'future', None)):
        return awaitable.future()
    if inspect.isawaitable(awaitable):
        return asyncio.run_coroutine_threadsafe(finish(awaitable), the_loop())
    raise TypeError(f'Expected a future, a coroutine or another awaitable but received {type(awaitable).__name__}')

def watch(awaitable, settle):
    """Calls settle(failed, value) when the awaitable is done. Returns a function that cancels it."""
    future = future_of(awaitable)
    key = object()
    def done(future):
        pending.pop(key, None)
        try:
            value = future.result()
        except BaseException as error:
            settle(True, error)
        else:
            settle(False, value)
    pending[key] = future  # nothing else may keep it
    try:
        if not asyncio.isfuture(future):
            future.add_done_callback(done)
            return future.cancel
        # Only the thread of its loop may use such a future.
        loop = future.get_loop()
        loop.call_soon_threadsafe(future.add_done_callback, done)
        return lambda: loop.call_soon_threadsafe(future.cancel)
    except BaseException:
        del pending[key]
        raise

def discard(awaitable):
    if inspect.iscoroutine(awaitable):
        awaitable.close()

def iterate(iterable):
    """The asynchronous iterator of an object; None for an object that only has an ordinary iterator."""
    method = getattr(type(iterable), '__aiter__', None)
    return None if method is None else method(iterable)

async def close(iterator):
    method = getattr(iterator, 'aclose', None)
    if method is not None:
        try:
            await method()
        except NotImplementedError:
            pass  # Ray's generators have the method, but only raise there
