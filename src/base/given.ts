/** Returns the object that it is given, so that a derived class adds its private fields to that object. */
export class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the object is not made here
    return object;
  }
}
