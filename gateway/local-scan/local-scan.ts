import { EventEmitter } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { comparisonOperators } from '@millwright/api/discovery.ts'
import type { DeviceError, LinkParameter } from '@millwright/api/gatekeeper.ts'
import type { UnsignedReceipt } from '@millwright/api/receipt.ts'
import type { ScanBudget } from '@millwright/api/scan-budget.ts'
import { type JsonValue, variantOfType, variantTypeOf } from '@millwright/api/variant.ts'
import { scanWithCredentials } from '../discovery-agent/credential-scan.ts'
import { errorOfMapping } from '../discovery-agent/device-error.ts'
import { locationOf } from '../discovery-agent/protected-device.ts'
import type { ScanRequest } from '../discovery-agent/scan-request.ts'
import { type Credential, maxPerAddress } from '../job-credentials.ts'
import { linkErrorText } from '../link-client.ts'
import type { BuiltInLink } from '../link-runner/link-process.ts'
import { LinkRunner } from '../link-runner/link-runner.ts'
import { createLog } from '../log.ts'
import type { MappingResult } from '../mapping/asset.ts'
import type { Document } from '../mapping/document.ts'
import { budgetFileName, writeBudget } from '../permits/budget-file.ts'
import { GatewayPermits } from '../permits/gateway-permits.ts'
import { permitService } from '../permits/permit-service.ts'
import { trafficFields } from '../permits/scan-receipt.ts'
import type { Registration } from '../registry/registration.ts'
import { Registry } from '../registry/registry.ts'
import { RegistryServer } from '../registry/registry-server.ts'

/** The time in which a link must start, and the time after which a silent link fails. */
const timing = { startMs: 30_000, silenceMs: 120_000 } as const

type LocalScanOptions = {
  links: readonly BuiltInLink[]
  /** The ranges to scan, such as `10.0.0.0/24`. */
  ranges: readonly string[]
  excluded: readonly string[]
  /** Returns the options of a link. */
  optionsFor: (link: BuiltInLink) => LocalOption[]
  budget: ScanBudget
  /** Returns the credentials of a link for a device, in the order in which they are tried. */
  credentialsFor: (link: BuiltInLink, address: string) => Credential[]
  signal: AbortSignal
  onDevice?: (finding: LocalFinding) => void
  onProgress?: (link: BuiltInLink, percent: number) => void
}

/** `LocalOption` is an option of a link, with the type that the link declares. */
export type LocalOption = { key: string; type: LinkParameter['dataType']; value: JsonValue }

/** `LocalFinding` is a device that a link found. `address` is the address that the link scanned. */
export type LocalFinding = { link: BuiltInLink; asset: Document; address?: string }
export type LocalError = { link: BuiltInLink; error: DeviceError }

export type LocalScan = {
  findings: LocalFinding[]
  errors: LocalError[]
  /** The links that could not scan, with the reason. */
  failures: { link: BuiltInLink; reason: string }[]
  /** Limits of the links on this machine, such as missing rights. */
  notices: { link: BuiltInLink; text: string }[]
  receipt: UnsignedReceipt
}

/**
 * Scans with several links on this machine, without a platform. Runs the links as child processes that share one
 * budget, as a gateway does.
 */
export async function localScan(options: LocalScanOptions): Promise<LocalScan> {
  await using cleanUp = new AsyncDisposableStack()
  const home = await mkdtemp(join(tmpdir(), 'millwright-scan-'))
  cleanUp.defer(() => rm(home, { recursive: true, force: true }))
  const log = createLog({ level: 'silent' })
  await writeBudget(join(home, budgetFileName), options.budget)
  const permits = cleanUp.use(await GatewayPermits.open(join(home, budgetFileName)))
  const registry = await Registry.open({ file: join(home, 'registry.json'), log })
  cleanUp.defer(() => registry.close())
  const server = await RegistryServer.start({
    registry,
    host: '127.0.0.1',
    port: 0,
    vendors: ['millwright'],
    services: [permitService({ permits, registry, links: options.links })],
  })
  cleanUp.defer(() => server.stop())
  const changes = new EventEmitter().setMaxListeners(0)
  const runner = new LinkRunner({
    settings: {
      home,
      links: options.links.map(({ name }) => name),
      linkVendors: ['millwright'],
      registryHost: '127.0.0.1',
      logLevel: 'warn',
      tracesUrl: undefined,
    },
    builtInLinks: options.links,
    registry,
    registryPort: server.port,
    log,
    onChange: () => void changes.emit('change'),
  })
  cleanUp.defer(() => runner.stop())
  await runner.start()

  const scanPermits = await permits.startScan()
  options.signal.addEventListener('abort', scanPermits.end, { once: true })
  if (options.signal.aborted) scanPermits.end()
  const result: Omit<LocalScan, 'receipt'> = { findings: [], errors: [], failures: [], notices: [] }
  await Promise.all(
    options.links.map(async (link) => {
      try {
        const registration = await waitForRegistration(link, { registry, runner, changes, signal: options.signal })
        await scanWith(link, { registration, scanId: scanPermits.id, options, result })
      } catch (error) {
        if (!options.signal.aborted) result.failures.push({ link, reason: linkErrorText(error) })
      }
    }),
  )
  scanPermits.end()
  result.notices = runner.status().flatMap(({ name, notices = [] }) => {
    const link = options.links.find((one) => one.name === name)
    return link === undefined ? [] : notices.map((text) => ({ link, text }))
  })
  const { budgets, traffic } = scanPermits
  const state = options.signal.aborted ? 'canceled' : result.failures.length > 0 ? 'failed' : 'finished'
  const receipt: UnsignedReceipt = {
    jobId: crypto.randomUUID(),
    links: options.links.map(({ appInstanceId }) => appInstanceId),
    ...trafficFields({ state, budgets, traffic, endedAt: new Date() }),
    unsigned: true,
  }
  return { ...result, receipt }
}

type WaitOptions = { registry: Registry; runner: LinkRunner; changes: EventEmitter; signal: AbortSignal }

/** Waits until the process of a link has registered. Throws an error with the reason if it does not, or on cancellation. */
function waitForRegistration(
  { name, appInstanceId }: BuiltInLink,
  { registry, runner, changes, signal }: WaitOptions,
): Promise<Registration> {
  const found = registry.find(appInstanceId)
  if (found !== undefined) return Promise.resolve(found)
  if (signal.aborted) return Promise.reject(new Error('The scan was canceled.'))
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timing.startMs)])
    const stateOf = () => runner.report().find((one) => one.name === name)
    const onLimit = () => {
      const last = stateOf()?.log?.at(-1) ?? 'it printed nothing'
      reject(new Error(`The link ${name} did not start within ${timing.startMs / 1_000} seconds: ${last}`))
    }
    const onStateChange = () => {
      const { state, problem = '' } = stateOf() ?? {}
      if (state === 'failed') reject(new Error(`The link ${name} did not start: ${problem}`))
    }
    limit.addEventListener('abort', onLimit, { once: true })
    changes.on('change', onStateChange)
    onStateChange()
    registry.onChange(({ kind, registration }) => {
      if (kind === 'registered' && registration.appInstanceId === appInstanceId) resolve(registration)
    })
  })
}

type LinkScan = {
  registration: Registration
  scanId: string
  options: LocalScanOptions
  result: Omit<LocalScan, 'receipt'>
}

async function scanWith(link: BuiltInLink, { registration, scanId, options, result }: LinkScan): Promise<void> {
  const { signal, onDevice, onProgress } = options
  const add = (mapped: MappingResult, address: string | undefined) => {
    const fault = errorOfMapping(mapped)
    if (fault !== undefined) result.errors.push({ link, error: fault })
    if (mapped.asset === undefined) return
    const finding = { link, asset: mapped.asset, ...(address === undefined ? {} : { address }) }
    result.findings.push(finding)
    onDevice?.(finding)
  }
  const credentials = {
    ask: async (addresses: readonly string[]) =>
      new Map(addresses.map((address) => [address, options.credentialsFor(link, address).slice(0, maxPerAddress)])),
    [Symbol.dispose]: () => undefined,
  }
  const scanning = scanWithCredentials({
    ...{ registration, scanRequest: requestFor(link, options), scanId, silenceMs: timing.silenceMs, signal },
    newCredentials: () => credentials,
    isFound: () => false,
  })
  for await (const { devices = [], errors = [], progress } of scanning) {
    for (const { mapped, connection, address } of devices)
      add(mapped, address ?? (connection && locationOf(connection).address))
    result.errors.push(...errors.map((error) => ({ link, error })))
    if (progress !== undefined) onProgress?.(link, progress)
  }
}

function requestFor(link: BuiltInLink, { ranges, excluded, optionsFor }: LocalScanOptions): ScanRequest {
  const parameter = ({ key, type, value }: LocalOption) => {
    const variant = variantOfType(variantTypeOf(type), value)
    if (variant === undefined) throw new Error(`The option ${key} must have the type ${type}.`)
    return { key, operator: comparisonOperators.indexOf('EQUAL'), value: variant, text: String(value) }
  }
  const filter = (key: string) => (value: string) => parameter({ key, type: 'text', value })
  return {
    assetLinkId: link.appInstanceId,
    filters: [...ranges.map(filter('ip_range')), ...excluded.map(filter('exclude'))],
    options: optionsFor(link).map(parameter),
  }
}
