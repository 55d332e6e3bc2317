import { randomUUID } from 'node:crypto'
import { getServers } from 'node:dns'
import { unwatchFile, watchFile } from 'node:fs'
import { pause } from '@millwright/api/back-off.ts'
import { PermitIssuer, PermitRefusal } from '@millwright/api/permit-issuer.ts'
import { receiptLimits } from '@millwright/api/receipt.ts'
import { defaultBudget, type PermitRequest, type ScanBudget } from '@millwright/api/scan-budget.ts'
import { readBudget } from './budget-file.ts'
import { ScanTraffic } from './scan-traffic.ts'

/** `BudgetPeriod` is a budget and the time from which it applied. */
export type BudgetPeriod = { from: Date; budget: ScanBudget }

/** `ScanPermits` are the permits of one scan. */
export class ScanPermits {
  /** The id that the link sends with its requests for permits. */
  readonly id = randomUUID()
  readonly traffic = new ScanTraffic()
  readonly #budgets: BudgetPeriod[]
  readonly #ended = new AbortController()
  #problem: string | undefined

  constructor(budget: ScanBudget) {
    this.#budgets = [{ from: this.traffic.startedAt, budget }]
  }

  /** Returns the budgets that applied since the start of the scan. */
  get budgets(): readonly BudgetPeriod[] {
    return this.#budgets
  }

  /** Returns why the gateway refuses the permits of the scan, unless the scan has ended. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Returns a signal that aborts at the end of the permits. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  changeBudget(budget: ScanBudget): void {
    if (this.#budgets.length >= receiptLimits.budgets) this.#budgets.pop()
    this.#budgets.push({ from: new Date(), budget })
  }

  /** Refuses all further permits of the scan. */
  readonly end = (): void => this.#ended.abort()

  /** Refuses all further permits of the scan, because of a problem. */
  fail(problem: string): void {
    if (this.#ended.signal.aborted) return
    this.#problem = problem
    this.end()
  }
}

/** `PermitCall` is one call of a link. `scanId` is the id of its scan, if the call belongs to one. */
type PermitCall = { linkId: string; scanId?: string | undefined; signal: AbortSignal }

const endedScan = AbortSignal.abort()

/** The interval in which the file is checked, and the time in which another program completes a file that it writes. */
const timing = { checkEveryMs: 500, completeMs: 250 } as const

/**
 * `GatewayPermits` gives permits to all links of the gateway, so that the links together keep one budget. A change of the
 * budget file applies to running scans within about one second. While the file is not valid, nothing is sent.
 */
export class GatewayPermits implements Disposable {
  readonly #file: string
  readonly #issuer: PermitIssuer
  readonly #scans = new Map<string, { permits: ScanPermits; assetLinkId: string | undefined }>()
  /** Why the budget file is not valid. */
  #fault: string | undefined
  /** The reads of the file, one after the other. */
  #reading: Promise<unknown> = Promise.resolve()
  readonly #onFileChange = () => void this.#serially(() => this.#reload())

  private constructor(file: string, budget: ScanBudget) {
    this.#file = file
    this.#issuer = new PermitIssuer(budget, { nameServers: getServers() })
    watchFile(file, { interval: timing.checkEveryMs, persistent: false }, this.#onFileChange)
  }

  /** Opens the budget file. If it is not valid, the gateway works without scans until the file is corrected. */
  static async open(file: string): Promise<GatewayPermits> {
    try {
      return new GatewayPermits(file, await readBudget(file))
    } catch (error) {
      const permits = new GatewayPermits(file, defaultBudget)
      permits.#fault = (error as Error).message
      return permits
    }
  }

  /** Returns why the budget file is not valid. */
  get fault(): string | undefined {
    return this.#fault
  }

  get budget(): ScanBudget {
    return this.#issuer.budget
  }

  /** Returns the shortest interval between two packets of a kind that keeps the limits of the gateway. */
  intervalMs(kind: PermitRequest['kind']): number {
    return this.#issuer.intervalMs(kind)
  }

  /** Starts the permits of a scan. Throws a `SetupError` if the budget file is not valid. */
  async startScan(assetLinkId?: string): Promise<ScanPermits> {
    const budget = await this.#serially(() => readBudget(this.#file))
    this.#apply(budget)
    const permits = new ScanPermits(budget)
    this.#scans.set(permits.id, { permits, assetLinkId })
    permits.signal.addEventListener('abort', () => this.#scans.delete(permits.id), { once: true })
    return permits
  }

  /** Refuses all further permits of the scans of a link. */
  failScansOf(assetLinkId: string, problem: string): void {
    for (const scan of [...this.#scans.values()]) if (scan.assetLinkId === assetLinkId) scan.permits.fail(problem)
  }

  /**
   * Returns the function with which one call of a link waits for its permits. A link that names no scan also gets permits,
   * for example when it reads one device on demand. A link that names an unknown scan or the scan of another link gets
   * none.
   */
  forCall({ linkId, scanId, signal }: PermitCall): (request: PermitRequest) => Promise<Disposable> {
    const scan = scanId === undefined ? undefined : this.#scans.get(scanId)
    const isOther = scan?.assetLinkId !== undefined && scan.assetLinkId !== linkId
    const ended = scanId === undefined ? undefined : scan === undefined || isOther ? endedScan : scan.permits.signal
    const either = ended === undefined ? signal : AbortSignal.any([signal, ended])
    const traffic = isOther ? undefined : scan?.permits.traffic
    return async (request) => {
      if (this.#fault !== undefined) throw new PermitRefusal('canceled', this.#fault)
      if (ended?.aborted) throw new PermitRefusal('canceled', 'The scan has ended.')
      try {
        return await this.#issuer.take(request, { signal: either, onGranted: (one, at) => traffic?.add(one, at) })
      } catch (error) {
        if (error instanceof PermitRefusal) traffic?.addRefusal(error.reason)
        throw error
      }
    }
  }

  [Symbol.dispose](): void {
    unwatchFile(this.#file, this.#onFileChange)
  }

  async #reload(): Promise<void> {
    try {
      this.#apply(await readBudget(this.#file).catch(() => this.#readCompleted()))
    } catch (error) {
      this.#fault = (error as Error).message
      for (const { permits } of [...this.#scans.values()]) permits.fail(this.#fault)
    }
  }

  /** Reads the file again, because another program can be writing it. */
  async #readCompleted(): Promise<ScanBudget> {
    await pause(timing.completeMs)
    return readBudget(this.#file)
  }

  #apply(budget: ScanBudget): void {
    this.#fault = undefined
    if (JSON.stringify(budget) === JSON.stringify(this.#issuer.budget)) return
    this.#issuer.changeBudget(budget)
    for (const { permits } of this.#scans.values()) permits.changeBudget(budget)
  }

  #serially<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#reading.then(work)
    this.#reading = result.catch(() => undefined)
    return result
  }
}
