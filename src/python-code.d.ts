/** The build puts the text of a Python file where it is imported (scripts/lib/dist.mjs). */
declare module '*.py' {
  const code: string;
  export default code;
}
