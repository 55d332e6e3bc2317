// Loaded before a program: its clock is wrong by so many hours, as the clock of a machine may be.
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
