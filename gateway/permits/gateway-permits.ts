import { randomUUID } from 'node:crypto'
import { PermitIssuer, PermitRefusal } from '@millwright/api/permit-issuer.ts'
import type { PermitRequest, ScanBudget } from '@millwright/api/scan-budget.ts'
import { readBudget } from './budget-file.ts'
import { ScanTraffic } from './scan-traffic.ts'

/** `ScanPermits` are the permits of one scan. */
export type ScanPermits = {
  /** The id that the link sends with its requests for permits. */
  id: string
  budget: ScanBudget
  traffic: ScanTraffic
  /** Refuses all further permits of the scan. */
  end: () => void
}

/** The interval in which the budget is read again for links that read devices without a scan. */
const rereadMs = 1_000

/** `GatewayPermits` gives permits to all links of the gateway, so that the links together keep one budget. */
export class GatewayPermits {
  readonly #file: string
  readonly #issuer: PermitIssuer
  #readAtMs = performance.now()
  readonly #scans = new Map<string, { permits: ScanPermits; ended: AbortController }>()

  private constructor(file: string, budget: ScanBudget) {
    this.#file = file
    this.#issuer = new PermitIssuer(budget)
  }

  static async open(file: string): Promise<GatewayPermits> {
    return new GatewayPermits(file, await readBudget(file))
  }

  get budget(): ScanBudget {
    return this.#issuer.budget
  }

  /** Starts the permits of a scan. Reads the budget again, so that a change applies without a restart of the gateway. */
  async startScan(): Promise<ScanPermits> {
    const budget = await this.#readBudget()
    const id = randomUUID()
    const ended = new AbortController()
    const end = () => {
      ended.abort()
      this.#scans.delete(id)
    }
    const permits = { id, budget, traffic: new ScanTraffic(), end }
    this.#scans.set(id, { permits, ended })
    return permits
  }

  async #readBudget(): Promise<ScanBudget> {
    const budget = await readBudget(this.#file)
    this.#readAtMs = performance.now()
    if (JSON.stringify(budget) !== JSON.stringify(this.#issuer.budget)) this.#issuer.changeBudget(budget)
    return budget
  }

  /**
   * Waits for a permit. A link that names no scan also gets permits, for example when it reads one device on demand. A
   * link that names an unknown scan gets none, because the scan has ended.
   */
  async take(
    request: PermitRequest,
    { scanId, signal }: { scanId?: string; signal: AbortSignal },
  ): Promise<Disposable> {
    if (scanId === undefined) {
      if (performance.now() - this.#readAtMs > rereadMs) await this.#readBudget()
      return this.#issuer.take(request, { signal })
    }
    const scan = this.#scans.get(scanId)
    if (scan === undefined) throw new PermitRefusal('canceled', 'The scan has ended.')
    const { traffic } = scan.permits
    try {
      return await this.#issuer.take(request, {
        signal: AbortSignal.any([signal, scan.ended.signal]),
        onGranted: (granted, at) => traffic.add(granted, at),
      })
    } catch (error) {
      if (error instanceof PermitRefusal) traffic.addRefusal(error.reason)
      throw error
    }
  }
}
