# Run once, by helpers.ts, as the module _dlpack_ray. Classes and functions inside of functions are pickled with their
# code, so processes without this module can load them. They find the JavaScript functions of their process in this
# module, which only JavaScript workers have.
import functools, logging, sys, weakref
from functools import partial  # noqa: F401 JavaScript calls it
import ray
from ray import get, put  # noqa: F401 JavaScript calls them
import _dlpack_futures as futures

invoke = None  # set by a JavaScript worker: invoke(request, ...)

def method_of(name):
    def method(self, *arguments, **keywords):
        import _dlpack_ray
        return _dlpack_ray.invoke('method', name, *arguments, **keywords)
    method.__name__ = method.__qualname__ = name
    return method

def actor_class(name, methods, url):
    """A class whose methods are those of the JavaScript class that the module exports under this name."""
    def construct(self, *arguments, **keywords):
        import _dlpack_ray
        _dlpack_ray.invoke('construct', url, name, *arguments, **keywords)
    members = {method: method_of(method) for method in methods}
    return ray.remote(type(name, (), dict(members, __init__=construct, __module__='javascript')))

def is_actor(value):
    return isinstance(value, ray.actor.ActorHandle)

def is_method(value):
    return isinstance(value, ray.actor.ActorMethod)

def task_function(name, url):
    def task(*arguments, **keywords):
        import _dlpack_ray
        return _dlpack_ray.invoke('task', url, name, *arguments, **keywords)
    task.__name__ = task.__qualname__ = name
    task.__module__ = 'javascript'
    return ray.remote(task)

limited_tasks = weakref.WeakKeyDictionary()

def with_max_calls(task, max_calls):
    """The task with this option, which Ray takes only where it makes a task. One for each number, because Ray counts by task."""
    made = limited_tasks.setdefault(task, {})
    if max_calls not in made:
        made[max_calls] = ray.remote(max_calls=max_calls)(task._function)
    return made[max_calls]

def error_class():
    class JavaScriptError(Exception):
        """An error that JavaScript threw in a worker: its name, its message and its stack."""
        def __init__(self, name, message, stack):
            super().__init__(name, message, stack)
            self.name, self.message, self.stack = name, message, stack
        def __str__(self):
            return self.stack
    JavaScriptError.__module__ = 'javascript'
    JavaScriptError.__qualname__ = 'JavaScriptError'
    return JavaScriptError

make_error = error_class()

def thrown(exception):
    """The name, message and stack of an error that JavaScript threw in a worker, or None."""
    cause = getattr(exception, 'cause', None)
    return (cause.name, cause.message, cause.stack) if type(cause).__module__ == 'javascript' else None

class ThreadFilter(logging.Filter):
    """Ray warns when it cannot handle SIGTERM. Here JavaScript handles it."""
    def filter(self, record):
        return 'SIGTERM handler is not set' not in str(record.msg)

def init(**options):
    logging.getLogger('ray._private.worker').addFilter(ThreadFilter())
    context = ray.init(**options)
    return (ray.get_runtime_context().gcs_address, context.address_info['node_id'])

waiting = set()  # the futures of get

def watch(awaitable, settle):
    """As the function of this name for other awaitables, with a future that stop_waiting can fail."""
    if isinstance(awaitable, ray.ObjectRef):
        awaitable = awaitable.future()
        waiting.add(awaitable)
        awaitable.add_done_callback(waiting.discard)
    return futures.watch(awaitable, settle)

class Group:
    """Settles one promise with the values of many awaitables, or with the first error."""
    def __init__(self, count, settle):
        self.count, self.settle, self.values, self.cancels = count, settle, {}, []
        self.awaitables = []  # those that are not awaited yet; JavaScript may drop its references to them
        self.check()

    def check(self):
        if len(self.values) == self.count:
            self.end(False, [self.values.get(i) for i in range(self.count)])  # two threads may be here

    def end(self, failed, value):
        settle, self.settle = self.settle, None
        if settle is not None:
            settle(failed, value)
            self.values.clear()
            self.cancels.clear()  # the futures refer to this group
            self.awaitables = []

    def take(self, i, failed, value):
        if failed:
            self.end(True, value)
        elif self.settle is not None:
            self.values[i] = value
            self.check()

def collect(group, awaitables):
    group.awaitables.extend(awaitables)

def add(group, first, end):
    try:
        for i, one in enumerate(group.awaitables[first:end], first):
            group.cancels.append(watch(one, functools.partial(group.take, i)))
        if group.settle is None:
            group.cancels.clear()  # another thread ended it meanwhile
    except BaseException as error:
        group.end(True, error)

def stop(group):
    for cancel in list(group.cancels):
        cancel()

def stop_waiting():
    """Fails the futures that wait. Ray never sets them after it has disconnected, and leaves a future that is done."""
    error = RuntimeError('shutdown() disconnected from Ray before the object existed')
    for future in list(waiting):
        try:
            future.set_exception(error)
        except Exception:
            pass  # it was set meanwhile
    futures.stop_steps(lambda iterator: type(iterator).__module__.split('.')[0] == 'ray', error)

def work(arguments, connected):
    """Runs Ray's worker program on this thread until Ray ends it."""
    import runpy
    import ray._private.utils, ray._private.worker
    ray._private.utils.set_sigterm_handler = lambda handler: None
    main_loop = ray._private.worker.Worker.main_loop
    def loop(self):
        connected()
        return main_loop(self)
    ray._private.worker.Worker.main_loop = loop
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name='__main__')
