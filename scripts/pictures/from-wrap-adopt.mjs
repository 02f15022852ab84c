import { arrow, cells, line, middle, picture, text } from './svg.mjs';

const heap = 175;
const native = 440;
const memory = ['1', '2', '3'];
const options = { size: 36, height: 30 };

const lane = (y, name, note) => [
  text(20, y + 14, name, 'mono strong'),
  text(20, y + 34, note, 'small dim'),
  line(20, y + 64, 640, y + 64),
];

export const svg = picture(
  {
    width: 660,
    height: 345,
    title: 'Tensor.from, Tensor.wrap and Tensor.adopt',
    description:
      'from copies a typed array into native memory, and both stay. wrap describes the memory of the typed array, and it is copied when Python keeps it. adopt moves the memory, and the typed array is empty afterwards.',
  },
  middle(heap + 54, 24, 'JavaScript heap', 'strong'),
  middle(native + 54, 24, 'native memory', 'strong'),
  line(20, 38, 640, 38),
  lane(62, 'Tensor.from(a)', 'copies once'),
  cells(heap, 62, memory, options),
  arrow(heap + 112, 77, native - 6, 77),
  middle((heap + native + 108) / 2, 70, 'copy', 'small'),
  cells(native, 62, memory, { ...options, kind: 'c' }),
  text(native + 120, 82, 'x', 'mono strong'),
  text(heap + 36, 108, 'a is yours', 'small dim'),
  lane(152, 'Tensor.wrap(a)', 'copies nothing'),
  cells(heap, 152, memory, options),
  text(heap - 22, 172, 'x', 'mono strong'),
  text(heap + 20, 198, 'a and x share it', 'small dim'),
  arrow(heap + 112, 167, native - 6, 167, 'warm dashed'),
  middle((heap + native + 108) / 2, 160, 'copied for Python', 'small warm'),
  cells(native, 152, memory, { ...options, kind: 'ghost' }),
  lane(242, 'Tensor.adopt(a)', 'moves, copies nothing'),
  cells(heap, 242, ['', '', ''], { ...options, kind: 'ghost' }),
  arrow(heap + 112, 257, native - 6, 257),
  middle((heap + native + 108) / 2, 250, 'moved', 'small'),
  cells(native, 242, memory, { ...options, kind: 'c' }),
  text(native + 120, 262, 'x', 'mono strong'),
  text(heap + 16, 288, 'a.length is 0 now', 'small dim'),
  text(
    20,
    330,
    'Native memory can be kept by Python, a kernel or another thread for as long as they like.',
    'small dim',
  ),
);
