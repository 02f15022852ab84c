/**
 * Numbers of the wire.
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

/** The wire itself. */
export const enum Wire {
  WORDS = 131072, // of eight bytes
  FIRST_SLOT = 142, // where requests begin, except the LayoutRequest
  KEPT_LAYOUTS = 1024, // the number of layouts that native code keeps
  DETACHED = 2147483648, // added to the handle of a released storage whose ArrayBuffer JavaScript has detached
}

/** Outcomes of requests. */
export const enum Status {
  ok = 0,
  nullManaged = 1,
  version = 2,
  ndim = 3,
  nullShape = 4,
  negativeShape = 5,
  tooLarge = 6,
  nullData = 7,
  misaligned = 8,
  dtype = 9,
  outOfMemory = 10,
  consumed = 11,
  notExternal = 12,
  noExternalBuffers = 13,
  unknownTicket = 14,
  napi = 15,
  unknownLayout = 16,
}
