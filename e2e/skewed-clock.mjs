/** Preloaded into a program: shifts its clock by a number of hours, like a machine with a wrong clock. */
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
