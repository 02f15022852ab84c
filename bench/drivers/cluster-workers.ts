/** The JavaScript actor of the cluster benchmark. */

export class Actor {
  nothing(): null {
    return null;
  }
}
