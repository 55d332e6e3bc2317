import { readFile, stat } from 'node:fs/promises'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { isInRanges, numberOfAddress, parseIpRange } from '@millwright/api/ip-range.ts'
import { defaultBudget, type ScanBudget, type TrafficLimits } from '@millwright/api/scan-budget.ts'
import type { Credential } from '@millwright/gateway/job-credentials.ts'
import type { LocalError, LocalOption, LocalScan } from '@millwright/gateway/local-scan/local-scan.ts'
import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { type BuiltInLink, builtInLinks } from '@millwright/links/catalogue.ts'
import { type Command, Option } from 'commander'
import { addressCount } from '../discovery/receipt-summary.ts'
import { errorLines } from '../discovery/scan-progress.ts'
import { batches } from '../input/batches.ts'
import { parsePair } from '../input/json-input.ts'
import { BatchResults } from '../inventory/batch-results.ts'
import { resultsOf, waitHeaders } from '../inventory/write-status.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { wholeNumber } from '../output/paging.ts'
import { Table, valueAt } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { type ConnectionOptions, collect, connect, withConnectionOptions } from '../session/platform-command.ts'
import type { FoundDevice } from './found-devices.ts'

type Options = ConnectionOptions & {
  links?: string
  exclude?: string[]
  option?: string[]
  credentials?: string
  rate?: number
  dryRun?: boolean
  save?: boolean
}

/** The links that scan a network. The link to the simulated plant is not one of them. */
const networkLinks = builtInLinks.filter(({ name }) => name !== 'plant')

export function addCommands(scan: Command, terminal: Terminal): void {
  const names = networkLinks.map(({ name }) => name).join(', ')
  withConnectionOptions(
    scan
      .argument('<range...>', 'addresses to scan: 10.0.0.0/24, 10.0.0.1-10.0.0.99 or one address')
      .option('--links <names>', `links to use, separated by commas (default: all): ${names}`)
      .option('--exclude <range>', 'addresses that are not scanned; repeatable', collect)
      .option('--option <link.key=value>', 'option of a link, such as modbus.ports=5020; repeatable', collect)
      .option('--credentials <file>', 'file with credentials of devices (mode 0600); - is standard input')
      .option(
        '--rate <count>',
        'maximum number of datagrams, connections and requests per second and device',
        wholeNumber(1, 1_000),
        defaultBudget.perDevice.requestsPerSecond,
      )
      .option('--dry-run', 'print what would be sent, and send nothing')
      .option('--save', 'save the devices to the platform that you are signed in to')
      .addOption(new Option('--json', 'print one JSON document').conflicts('ndjson'))
      .addOption(new Option('--ndjson', 'print one line of JSON for each device, and one for the receipt')),
  )
    .addHelpText(
      'after',
      `
Scans a network from this machine. No platform and no set-up is needed. All links only read from devices, share one
budget, and never send more than the rate to a device. Ctrl-C stops the scan: nothing is sent after one second.
The receipt at the end lists what was sent. It is not signed: only a gateway signs receipts.

The file with credentials is a JSON list. Without it, SNMP v2c with the community "public" is tried, and nothing else:
  [{ "link": "snmp", "ranges": ["10.0.0.0/24"],
     "values": { "version": "3", "user": "reader", "authProtocol": "sha256", "authPassword": "…",
                 "privProtocol": "aes128", "privPassword": "…" } }]

Examples:
  millwright scan 192.0.2.0/24 --dry-run
  millwright scan 192.0.2.0/24
  millwright scan 192.0.2.10-192.0.2.99 --links snmp,modbus --rate 5 --exclude 192.0.2.20
  millwright scan 192.0.2.0/24 --credentials credentials.json --save
  millwright scan 192.0.2.0/24 --ndjson > devices.ndjson`,
    )
    .action((ranges: string[], options: Options) => run(terminal, ranges, options))
}

async function run(terminal: Terminal, ranges: readonly string[], options: Options): Promise<void> {
  const links = linksNamed(options.links)
  const excluded = (options.exclude ?? []).flatMap((text) => text.split(','))
  for (const text of [...ranges, ...excluded]) requireRange(text)
  requireAddresses(ranges, excluded)
  const budget = {
    ...budgetFor(options.rate ?? defaultBudget.perDevice.requestsPerSecond),
    excludedAddresses: excluded,
  }
  if (options.dryRun) return printPlan(terminal, { links, ranges, excluded, budget, options })
  const linkOptions = await readOptions(options.option ?? [], links)
  const credentials = await readCredentials(terminal, options.credentials, links)
  // Signs in before the scan, so that a scan is not lost because of a missing sign-in.
  const session = options.save ? await connect(terminal, options) : undefined
  const [{ localScan }, { foundDevices }] = await Promise.all([
    import('@millwright/gateway/local-scan/local-scan.ts'),
    import('./found-devices.ts'),
  ])
  const stop = new AbortController()
  const release = terminal.onInterrupt(() => stop.abort())
  const live = liveOutput(terminal, options)
  const result = await localScan({
    links,
    ranges,
    excluded,
    optionsFor: ({ name }) => linkOptions.get(name) ?? [],
    budget,
    credentialsFor: (link, address) => credentials.flatMap((one) => (one.fits(link, address) ? [one.credential] : [])),
    signal: stop.signal,
    ...live,
  }).finally(release)
  const devices = foundDevices(result.findings)
  await print(terminal, { devices, result, options })
  if (session !== undefined) await save(session, devices)
  if (stop.signal.aborted) throw new CommandError('The scan was canceled.', { exitCode: exitCodes.interrupted })
  if (result.failures.length > 0) {
    const reasons = result.failures.map(({ link, reason }) => `${link.name}: ${reason}`)
    throw new CommandError(['Some links could not scan.', ...reasons].join('\n  '))
  }
}

function linksNamed(names: string | undefined): BuiltInLink[] {
  if (names === undefined) return [...networkLinks]
  return names.split(',').map((name) => {
    const link = networkLinks.find((one) => one.name === name.trim())
    if (link !== undefined) return link
    throw usageError(`"${name.trim()}" is not a link. Links: ${networkLinks.map((one) => one.name).join(', ')}.`)
  })
}

function requireRange(text: string): void {
  if (parseIpRange(text) === undefined)
    throw usageError(`"${text}" is not an address range. Use 10.0.0.0/24, 10.0.0.1-10.0.0.99 or one address.`)
}

/** Refuses a range that no link accepts, such as one with too many addresses. */
function requireAddresses(ranges: readonly string[], excluded: readonly string[]): void {
  try {
    countAddresses(ranges, excluded)
  } catch (error) {
    throw usageError((error as Error).message)
  }
}

function budgetFor(rate: number): ScanBudget {
  const limits: Partial<TrafficLimits> = {
    datagramsPerSecond: rate,
    connectionsPerSecond: rate,
    requestsPerSecond: rate,
  }
  return { ...defaultBudget, perDevice: { ...defaultBudget.perDevice, ...limits } }
}

type Plan = {
  links: readonly BuiltInLink[]
  ranges: readonly string[]
  excluded: readonly string[]
  budget: ScanBudget
  options: Options
}

/** Prints the functions that the links would send, the addresses and the budget. */
async function printPlan(terminal: Terminal, { links, ranges, excluded, budget, options }: Plan): Promise<void> {
  const rows = (
    await Promise.all(
      links.map(async (link) =>
        ((await manifestOf(link)).sends ?? []).map((sent) => ({
          link: link.name,
          ...sent,
          ports: sent.ports?.join(', ') ?? '',
        })),
      ),
    )
  ).flat()
  const addresses = countAddresses(ranges, excluded)
  if (options.json || options.ndjson) {
    const { perDevice, perGateway } = budget
    return terminal.print(JSON.stringify({ ranges, excluded, addresses, perDevice, perGateway, sends: rows }))
  }
  const columns = {
    link: 'link',
    protocol: 'protocol',
    function: 'operation',
    code: 'code',
    transport: 'transport',
    ports: 'ports',
    purpose: 'description',
  }
  for (const line of new Table(columns, terminal).lines(rows)) await terminal.print(line)
  const { perDevice, perGateway } = budget
  await terminal.print('')
  await terminal.print(
    `Nothing was sent. The scan would visit ${addressesText(addresses)} with at most ${perDevice.requestsPerSecond} per second and ${formatCount(perDevice.connections, 'connection')} at a time for each device, and ${perGateway.requestsPerSecond} per second in all. All functions only read.`,
  )
}

function addressesText(count: number): string {
  return `${count} address${count === 1 ? '' : 'es'}`
}

function countAddresses(ranges: readonly string[], excluded: readonly string[]): number {
  const filters = (key: string, values: readonly string[]) =>
    values.map((value) => ({ key, operator: 'EQUAL' as const, value }))
  return scanRangeOf([...filters('ip_range', ranges), ...filters('exclude', excluded)]).size
}

async function manifestOf({ file }: BuiltInLink): Promise<Manifest> {
  const { manifest } = (await import(new URL('./manifest.ts', `file://${file}`).href)) as { manifest: Manifest }
  return manifest
}

/** Parses the options of links. The type of a value is the type that the link declares. */
async function readOptions(
  texts: readonly string[],
  links: readonly BuiltInLink[],
): Promise<Map<string, LocalOption[]>> {
  const byLink = new Map<string, LocalOption[]>()
  for (const text of texts) {
    const [path, value] = parsePair(text, '--option')
    const [name = '', ...rest] = path.split('.')
    const link = links.find((one) => one.name === name)
    if (link === undefined) throw usageError(`--option ${text}: "${name}" is not a link of this scan.`)
    const key = rest.join('.')
    const declared = (await manifestOf(link)).options ?? []
    const option = declared.find((one) => one.key === key)
    if (option === undefined) {
      const keys = declared.map((one) => one.key).join(', ')
      throw usageError(`--option ${text}: the link ${name} has the options ${keys}.`)
    }
    byLink.set(name, [...(byLink.get(name) ?? []), { key, type: option.type, value }])
  }
  return byLink
}

type FileCredential = { fits: (link: BuiltInLink, address: string) => boolean; credential: Credential }

const fileForm = 'Use a list such as [{ "link": "snmp", "ranges": ["10.0.0.0/24"], "values": { … } }].'

async function readCredentials(
  terminal: Terminal,
  file: string | undefined,
  links: readonly BuiltInLink[],
): Promise<FileCredential[]> {
  if (file === undefined) return []
  if (file !== '-' && ((await stat(file).catch(() => undefined))?.mode ?? 0) & 0o077)
    throw usageError(`Other users can read ${file}.`, `chmod 600 ${file}`)
  const text =
    file === '-'
      ? await terminal.input()
      : await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
          throw usageError(`${file} cannot be read (${error.code}).`)
        })
  const entries = parseEntries(text)
  const { Secret } = await import('@millwright/gateway/secret.ts')
  return Promise.all(
    entries.map(async ({ link: name, ranges, values }, index) => {
      const link = networkLinks.find((one) => one.name === name)
      const [schema] = link === undefined ? [] : ((await manifestOf(link)).credentialSchemas ?? [])
      if (link === undefined || schema === undefined)
        throw usageError(`Entry ${index + 1} of the credentials: the link "${name}" has no credentials.`, fileForm)
      for (const range of ranges) requireRange(range)
      const parsed = ranges.flatMap((range) => parseIpRange(range) ?? [])
      const secret = new Secret(JSON.stringify(values))
      return {
        fits: (one: BuiltInLink, address: string) =>
          one === link && links.includes(one) && isInRanges(parsed, numberOfAddress(address) ?? -1),
        credential: { instanceId: `entry ${index + 1}`, schemaUri: schema.uri, secret },
      }
    }),
  )
}

type Entry = { link: string; ranges: string[]; values: object }

/** Parses the file. Error messages contain no part of the file, because it contains secrets. */
function parseEntries(text: string): Entry[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    throw usageError('The credentials are not JSON.', fileForm)
  }
  if (Array.isArray(entries) && entries.every(isEntry)) return entries
  throw usageError('The credentials do not have the required form.', fileForm)
}

function isEntry(value: unknown): value is Entry {
  const { link, ranges, values } = (value ?? {}) as Partial<Entry>
  const isText = (text: unknown) => typeof text === 'string'
  return isText(link) && Array.isArray(ranges) && ranges.every(isText) && typeof values === 'object' && values !== null
}

/** Shows devices and progress while the scan runs, if the output is text. */
function liveOutput(terminal: Terminal, { json, ndjson }: Options) {
  const progress = new Map<string, number>()
  let devices = 0
  const show = () => {
    const parts = [...progress].map(([name, percent]) => `${name} ${percent} %`)
    terminal.progress(`${formatCount(devices, 'finding')}  ${parts.join('  ')}`)
  }
  return {
    onDevice: (link: BuiltInLink, asset: Record<string, unknown>) => {
      devices += 1
      if (!json && !ndjson)
        terminal.note(`+ ${link.name.padEnd(8)} ${rowOf({ links: [link.name], asset }).line}`.trimEnd())
      show()
    },
    onProgress: (link: BuiltInLink, percent: number) => {
      progress.set(link.name, percent)
      show()
    },
  }
}

function rowOf({ links, address, asset }: FoundDevice) {
  const product = 'product_instance_information.manufacturer_product'
  const text = (path: string) => String(valueAt(asset, path) ?? '')
  const points = Array.isArray(asset.connection_points) ? asset.connection_points : []
  const first = (field: string) => points.map((point) => point[field]).find((value) => typeof value === 'string') ?? ''
  const row = {
    address: address ?? first('ipv4_address'),
    name: text('name'),
    manufacturer: text(`${product}.manufacturer.name`),
    product: text(`${product}.product_name`) || text(`${product}.product_id`),
    serial: text('product_instance_information.serial_number'),
    firmware: firmwareOf(asset),
    mac: first('mac_address'),
    links: links.join(', '),
  }
  return {
    ...row,
    line: [row.address, row.name, row.manufacturer, row.product].filter((part) => part !== '').join('  '),
  }
}

function firmwareOf({ software_components: components }: Record<string, unknown>): string {
  if (!Array.isArray(components)) return ''
  const artifacts = components.map(({ artifact }) => artifact).filter((artifact) => artifact?.is_firmware === true)
  return artifacts.map((artifact) => String(valueAt(artifact, 'asset_identifiers.0.version') ?? '')).join(', ')
}

type Printed = { devices: FoundDevice[]; result: LocalScan; options: Options }

async function print(terminal: Terminal, { devices, result, options }: Printed): Promise<void> {
  const { receipt, errors } = result
  if (options.json)
    return terminal.print(JSON.stringify({ devices, errors: errors.map(errorOf), receipt }, undefined, 2))
  if (options.ndjson) {
    for (const device of devices) await terminal.print(JSON.stringify(device))
    for (const error of errors) await terminal.print(JSON.stringify({ error: errorOf(error) }))
    return terminal.print(JSON.stringify({ receipt }))
  }
  const columns = Object.fromEntries(
    ['address', 'name', 'manufacturer', 'product', 'serial', 'firmware', 'mac', 'links'].map((name) => [name, name]),
  )
  if (devices.length > 0)
    for (const line of new Table(columns, terminal).lines(devices.map(rowOf))) await terminal.print(line)
  for (const { link, error } of errors) for (const line of errorLines(error)) terminal.note(`! ${link.name}: ${line}`)
  await terminal.print('')
  await terminal.print(summaryOf(devices, result))
}

function errorOf({ link, error }: LocalError): object {
  return { link: link.name, ...error }
}

function summaryOf(devices: readonly FoundDevice[], { errors, receipt }: LocalScan): string {
  const sent = Object.entries(receipt.totals).map(([name, count]) => `${count} ${name}`)
  const seconds = Math.max(1, Math.round((Date.parse(receipt.to) - Date.parse(receipt.from)) / 1_000))
  return [
    `${formatCount(devices.length, 'device')}, ${formatCount(errors.length, 'error')} in ${seconds} s.`,
    `Receipt (not signed): sent to ${addressesText(addressCount(receipt.devices))}: ${sent.join(', ') || 'nothing'}.`,
  ].join('\n')
}

async function save(session: Awaited<ReturnType<typeof connect>>, devices: readonly FoundDevice[]): Promise<void> {
  const results = new BatchResults(session, 'assets')
  for await (const assets of batches(devices.map(({ asset }) => asset))) {
    const accepted = await session
      .api(inventory)
      .createAssets({ body: { data: { assets } }, query: {}, headers: waitHeaders })
    await results.add(await resultsOf(session, accepted))
  }
  await results.finish()
}
