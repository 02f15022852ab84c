import { arrow, badge, labelled, picture, text } from './svg.mjs';

const rows = [
  ['nested arrays of numbers', 'Tensor.from(values)', 'copied'],
  ['a typed array that you keep', 'Tensor.wrap(array)', 'shared'],
  ['a typed array that you give away', 'Tensor.adopt(array)', 'shared'],
  ["another library's tensor", 'fromOnnxRuntime(t), …', 'shared'],
  ['a Python object', 'fromDLPack(object)', 'shared'],
  ['an address from native code', 'importManaged(address)', 'shared'],
  ['a file of tensors', 'openSafetensors(path), …', 'shared'],
  ['a tensor in another thread', 'openTensor(token)', 'shared'],
  ['a tensor on another device', "x.to('cuda:0')", 'copied'],
];

export const svg = picture(
  {
    width: 700,
    height: 60 + rows.length * 46,
    title: 'Which function makes a Tensor?',
    description: rows.map(([have, call, how]) => `For ${have}: ${call}, ${how}.`).join(' '),
  },
  text(20, 30, 'You have …', 'strong'),
  text(330, 30, 'Call …', 'strong'),
  text(570, 30, 'Its memory', 'strong'),
  rows.map(([have, call, how], i) => {
    const y = 46 + i * 46;
    return [
      labelled(20, y, 250, 34, have, 'box'),
      arrow(270, y + 17, 322, y + 17),
      text(330, y + 22, call, 'mono'),
      badge(570, y + 5, how, how === 'shared' ? 'c' : 'b'),
    ];
  }),
);
