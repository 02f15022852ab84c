# A Python process that talks JSON: null asks for the array, and an array is answered with the sum of two elements.
import json, sys
import numpy

array = numpy.arange(int(sys.argv[1]), dtype='float32')
for line in sys.stdin:
    message = json.loads(line)
    if message is None:
        answer = array.tolist()
    else:
        received = numpy.asarray(message, 'float32')
        answer = float(received[1] + received[-1])
    print(json.dumps(answer), flush=True)
