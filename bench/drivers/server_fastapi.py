# FastAPI with uvicorn: server_fastapi.py <port> <workers>. Calls of the model run on threads, as in the other servers.
import sys
import uvicorn
from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from server_model import predict

app = FastAPI()

@app.post('/predict')
async def answer(request: Request):
    return {'scores': await run_in_threadpool(predict, await request.body())}

@app.get('/health')
def health():
    return {}

if __name__ == '__main__':
    port, workers = map(int, sys.argv[1:])
    # uvicorn restarts a worker that does not answer, and loading PyTorch takes longer than its default allows.
    uvicorn.run('server_fastapi:app', port=port, workers=workers, log_level='warning', access_log=False,
                timeout_worker_healthcheck=120)
