// Loaded before a program: its clock is wrong by so many hours, as the clock of a machine may be.
const offsetMs = Number(process.env.SKEWED_HOURS ?? 0) * 3_600_000
const RealDate = Date

class SkewedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offsetMs)
    else super(...given)
  }

  static now() {
    return RealDate.now() + offsetMs
  }
}
globalThis.Date = SkewedDate
