"""The dataset of data-loader.ts. It is a module, because worker processes import it by its name."""

import torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor([index, index * index], dtype=torch.float32)
