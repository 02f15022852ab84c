import { openSafetensorsSync } from 'dlpack/files';

const b = openSafetensorsSync(process.argv[2] as string, { mode: 'c' }).get('b');
const values = [...b].join(' ');
b.set(0, 9);
console.log(values, b.isDataCopied ? 'copied' : 'shared', b.get(0));
