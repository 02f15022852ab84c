/**
 * Structured clone, and so `postMessage`, would make an empty object of a tensor. It throws for an object with a function
 * in a property, and some runtimes show the text of the function in the message.
 */
export const notCloneable = Object.values({
  'a tensor: post shareTensor(x) of dlpack/shared, or x.toArray()'() {},
})[0] as () => void;
