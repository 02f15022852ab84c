# FastAPI with an array: alternatives_fastapi.py <port> <length>. Elements travel as bytes.
import sys
import numpy
import uvicorn
from fastapi import FastAPI, Request, Response

app = FastAPI()
port, length = map(int, sys.argv[1:])
array = numpy.arange(length, dtype='float32')

@app.get('/give')
def give():
    return Response(array.tobytes(), media_type='application/octet-stream')

@app.post('/take')
async def take(request: Request):
    received = numpy.frombuffer(await request.body(), 'float32')
    return float(received[1] + received[-1])

@app.get('/health')
def health():
    return {}

uvicorn.run(app, port=port, log_level='warning', access_log=False)
