/**
 * This module is preloaded into a program. It shifts the program's clock by the number of hours in SKEWED_HOURS, as if
 * the clock of the machine were wrong.
 */
const offsetMs = Number(process.env.SKEWED_HOURS ?? 0) * 3_600_000
const RealDate = Date

class SkewedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + offsetMs)
    else super(...args)
  }

  static now() {
    return RealDate.now() + offsetMs
  }
}
globalThis.Date = SkewedDate
