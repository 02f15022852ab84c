import { arrow, badge, cells, labelled, line, picture, text } from './svg.mjs';

const owners = ['Tensor x', 'np.ndarray', 'torch.Tensor'];
const left = 165;

/** Owners over one row of memory. The typed array only looks at it. */
function frame(top, title, isDisposed) {
  const memory = top + 110;
  const gone = (name) => isDisposed && (name === 'Tensor x' || name === 'x.data');
  const box = (name, x, i, kind) => [
    labelled(x, top + 14, 125, 34, name, gone(name) ? 'ghost' : 'box', gone(name) ? 'dim' : ''),
    gone(name) ? [] : arrow(x + 62, top + 48, left + 13 + i * 12, memory - 2, kind),
  ];
  return [
    text(20, top, title, 'strong'),
    box('x.data', 20, 0, 'dashed'),
    owners.map((name, i) => box(name, left + i * 145, i + 1, '')),
    cells(left, memory, ['1', '2', '3', '4', '5', '6'], { size: 48 }),
    text(20, memory + 22, '0x7f3a…40', 'mono dim'),
    badge(475, memory + 5, `${isDisposed ? 2 : 3} owners`),
  ];
}

export const svg = picture(
  {
    width: 600,
    height: 385,
    title: 'One memory, three owners',
    description:
      'A Tensor, a NumPy array and a PyTorch tensor own the same six numbers, and the typed array x.data looks at them. After x.dispose() two owners are left, the numbers stay, and x.data is empty.',
  },
  frame(30, 'Nothing is copied: all of them see every write', false),
  line(20, 195, 580, 195),
  frame(225, 'After x.dispose() the others keep the memory; x.data is empty', true),
);
