# The model of examples/python-server/torch.ts, for the servers beside it.
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=4), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10), nn.Softmax(1)).eval()

@torch.inference_mode()
def predict(image):
    """The scores of an image, 224 x 224 x 3 bytes."""
    pixels = torch.frombuffer(bytearray(image), dtype=torch.uint8).view(1, 224, 224, 3)
    return model(pixels.permute(0, 3, 1, 2).float() / 255)[0].tolist()
