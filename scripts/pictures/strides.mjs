import { arc, cells, line, middle, picture, text } from './svg.mjs';

const row = (from) => [0, 1, 2].map((i) => [String(from + i), from === 0 ? 'a' : 'b']);
const memory = [...row(0), ...row(3)];

/** A view: its name, its cells in the order that it visits them, and its strides. */
function view(x, y, name, code, grid, strides) {
  const size = 30;
  return [
    text(x, y, name, 'strong'),
    text(x, y + 19, code, 'mono small'),
    grid.map((line, i) =>
      cells(
        x,
        y + 32 + i * 26,
        line.map((n) => [String(n), n < 3 ? 'a' : 'b']),
        { size, height: 26 },
      ),
    ),
    text(x, y + 32 + grid.length * 26 + 20, strides, 'small dim'),
  ];
}

export const svg = picture(
  {
    width: 680,
    height: 405,
    title: 'Shape and strides',
    description:
      'A 2 by 3 tensor lies in a row of six cells. A step along a row is one cell, a step to the next row is three. Transposing, taking a column, flipping and broadcasting only change strides and offset.',
  },
  text(20, 30, 'shape [2, 3], strides [3, 1]', 'strong'),
  cells(20, 48, row(0)),
  cells(20, 82, row(3)),
  text(250, 30, 'the same six elements in memory', 'strong'),
  cells(250, 82, memory),
  arc(272, 404, 80, 34),
  middle(338, 50, '+3: the next row', 'small'),
  arc(404, 448, 80, 18),
  text(455, 64, '+1: the next column', 'small'),
  text(20, 150, 'x[i][j] is the element offset + i · 3 + j · 1', 'mono'),
  line(20, 172, 660, 172),
  text(20, 198, 'A view copies nothing. It has other strides over the same memory:', 'dim'),
  view(
    20,
    232,
    'transpose',
    'x.transpose()',
    [
      [0, 3],
      [1, 4],
      [2, 5],
    ],
    'strides [1, 3]',
  ),
  view(165, 232, 'a column', 'x.slice(null, 1)', [[1], [4]], 'strides [3], offset 1'),
  view(
    325,
    232,
    'flip',
    'x.slice([null, null, -1])',
    [
      [3, 4, 5],
      [0, 1, 2],
    ],
    'strides [-3, 1], offset 3',
  ),
  view(
    515,
    232,
    'broadcast',
    'x.broadcastTo([3, 3])',
    [
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
    ],
    'strides [0, 1]',
  ),
);
