# Runs the cells of a notebook in a kernel of Deno, as Jupyter does, and prints a line of JSON for each cell: the first thing
# that the kernel shows for it. Arguments: Deno's executable and the notebook's folder. Input: a JSON array of cells.
import json, os, sys, tempfile
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

SHOWN = {'execute_result', 'display_data', 'stream', 'error'}

def write_spec(folder, deno):
    os.makedirs(f'{folder}/deno')
    argv = [deno, 'jupyter', '--kernel', '--conn', '{connection_file}']
    with open(f'{folder}/deno/kernel.json', 'w') as file:
        json.dump({'argv': argv, 'display_name': 'Deno', 'language': 'typescript'}, file)

def run(client, cell):
    number = client.execute(cell, allow_stdin=False)
    client.get_shell_msg()
    # Deno's kernel may say that it is idle before it sends the result.
    while True:
        message = client.get_iopub_msg()
        if message['parent_header'].get('msg_id') == number and message['msg_type'] in SHOWN:
            return [message['msg_type'], message['content']]

deno, notebook = sys.argv[1:]
with tempfile.TemporaryDirectory() as specs:
    write_spec(specs, deno)
    manager = KernelManager(kernel_name='deno', kernel_spec_manager=KernelSpecManager(kernel_dirs=[specs]))
    manager.start_kernel(cwd=notebook)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready()
        for cell in json.load(sys.stdin):
            print(json.dumps(run(client, cell)), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
