import { fuzzFiles } from '../fuzz.js';

const [seed, rounds] = process.argv.slice(2).map(Number) as [number, number];
console.log(JSON.stringify(await fuzzFiles(seed, rounds)));
