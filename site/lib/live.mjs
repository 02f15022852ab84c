// Programs that run in the page, in a worker with the browser core of the package.

/** Names that a page without special headers does not have, or that would need another module than the core. */
const foreign =
  /\b(process|Buffer|SharedArrayBuffer|require|__dirname|import\.meta|gc)\b|from '(?!dlpack')|import\('(?!dlpack')/;

/** The program as a page can run it, or null. `toJavaScript` removes the types. */
export function liveProgram(program, toJavaScript) {
  if (!/from 'dlpack'/.test(program) || !/console\.log/.test(program) || foreign.test(program)) return null;
  if (/cuda|native/.test(program)) return null;
  return toJavaScript(program);
}
