"""python onnxruntime_server.py model.onnx: FastAPI with onnxruntime. Prints its URL."""

import io
import socket
import sys

import numpy
import onnxruntime
import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from PIL import Image

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options)
app = FastAPI()


def classify(data: bytes) -> dict:
    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (128, 128))  # a smaller JPEG from the decoder, as sharp does by itself
    image = image.convert("RGB").resize((64, 64))
    batch = numpy.asarray(image, dtype=numpy.float32).transpose(2, 0, 1)[None]
    scores = session.run(None, {"x": batch})[0][0]
    best = int(scores.argmax())
    return {"class": best, "score": float(scores[best])}


@app.post("/")
async def answer(request: Request) -> dict:
    return await run_in_threadpool(classify, await request.body())


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)  # requests wait until the server has started
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
