import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { PacketCounts } from '@millwright/api/receipt.ts'
import { allowsGroups, defaultBudget, type ScanBudget, type TrafficLimits } from '@millwright/api/scan-budget.ts'
import { plannedFunctions } from '@millwright/api/sent-function.ts'
import type { LocalError, LocalFinding, LocalOption, LocalScan } from '@millwright/gateway/local-scan/local-scan.ts'
import type { Parameter } from '@millwright/link-sdk/manifest.ts'
import { portsOf } from '@millwright/link-sdk/network/range.ts'
import { type BuiltInLink, builtInLinks, manifestOf } from '@millwright/links/catalogue.ts'
import { type Command, Option } from 'commander'
import { addressCount, limitsText, totalOf } from '../discovery/receipt-summary.ts'
import { errorLines } from '../discovery/scan-progress.ts'
import { batches } from '../input/batches.ts'
import { parsePair } from '../input/json-input.ts'
import { BatchResults } from '../inventory/batch-results.ts'
import { resultsOf, waitHeaders } from '../inventory/write-status.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { wholeNumber } from '../output/paging.ts'
import { Table, valueAt } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayWidth, formatCount, pad, sanitize } from '../output/text.ts'
import { type ConnectionOptions, collect, connect, withConnectionOptions } from '../session/platform-command.ts'
import { readCredentials, requireRange } from './credentials-file.ts'
import type { FoundDevice, FoundDevices } from './found-devices.ts'
import { addressesText, countAddresses, type PlannedRow, printFunctions } from './scan-plan.ts'

type Options = ConnectionOptions & {
  links?: string
  exclude?: string[]
  option?: string[]
  credentials?: string
  rate?: number
  multicast?: 'allow' | 'deny'
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
      .addOption(
        new Option(
          '--multicast <rule>',
          'multicast and broadcast packets, which all devices of a segment receive (default: allow without --exclude)',
        ).choices(['allow', 'deny']),
      )
      .option('--dry-run', 'print what would be sent, and send nothing')
      .option('--save', 'save the devices to the platform that you are signed in to')
      .addOption(new Option('--json', 'print one JSON document').conflicts('ndjson'))
      .addOption(
        new Option('--ndjson', 'print one line of JSON for each device as it is found, and one for the receipt'),
      ),
  )
    .addHelpText(
      'after',
      `
Scans a network from this machine, without a platform and without set-up. The links only read from devices. All links
together never exceed --rate for a device. Ctrl-C stops the scan: nothing is sent later than one second after it.
The receipt at the end lists what was sent. It is not signed: only a gateway signs receipts.

If a gateway has its home on this machine (MILLWRIGHT_GATEWAY_HOME, or the folder gateway in MILLWRIGHT_HOME), the
limits, hours, protocols and excluded addresses of its budget, and its rule for multicast, also apply to the scan.

With --ndjson, each device has an id. A line with the id of an earlier line replaces that line. A line with "mergedInto"
means that its id is the same device as the id in "mergedInto". Lines with "error" and the line with "receipt" follow at
the end.

Without --credentials, SNMP uses the community "public", OPC UA signs in as an anonymous user, and nothing else is tried.
The file with credentials is a JSON list:
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

type LiveOutput = {
  onDevice: (finding: LocalFinding) => void
  onProgress: (link: BuiltInLink, percent: number) => void
  /** Prints what has changed since a device was found. */
  finish: (devices: readonly FoundDevice[]) => Promise<void>
}

async function run(terminal: Terminal, ranges: readonly string[], options: Options): Promise<void> {
  const links = linksNamed(options.links)
  const excluded = (options.exclude ?? []).flatMap((text) => text.split(','))
  for (const text of [...ranges, ...excluded]) requireRange(text)
  countAddresses(ranges, excluded)
  const linkOptions = await readOptions(options.option ?? [], links)
  const budget = await budgetFor(terminal, options, excluded)
  if (options.dryRun) return printPlan(terminal, { links, linkOptions, ranges, budget, options })
  const credentials = await readCredentials(terminal, options.credentials, { links, known: networkLinks })
  // Signs in before the scan, so that a scan is not lost because of a missing sign-in.
  const session = options.save ? await connect(terminal, options) : undefined
  const [{ localScan }, { FoundDevices }] = await Promise.all([
    import('@millwright/gateway/local-scan/local-scan.ts'),
    import('./found-devices.ts'),
  ])
  const stop = new AbortController()
  const release = terminal.onInterrupt(() => stop.abort())
  const found = new FoundDevices()
  const live = options.ndjson ? lineOutput(terminal, found) : liveOutput(terminal, options, found)
  const result = await localScan({
    links,
    ranges,
    excluded,
    optionsFor: ({ name }) => linkOptions.get(name) ?? [],
    budget,
    credentialsFor: (link, address) => credentials.flatMap((one) => (one.fits(link, address) ? [one.credential] : [])),
    signal: stop.signal,
    onDevice: live.onDevice,
    onProgress: live.onProgress,
  }).finally(release)
  const devices = found.list()
  for (const { link, text } of result.notices) terminal.note(`! ${link.name}: ${sanitize(text)}`)
  await live.finish(devices)
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
  const distinct = new Set(names.split(',').map((name) => name.trim()))
  return [...distinct].map((name) => {
    const link = networkLinks.find((one) => one.name === name)
    if (link !== undefined) return link
    throw usageError(`"${name}" is not a link. Links: ${networkLinks.map((one) => one.name).join(', ')}.`)
  })
}

/** Returns the budget of the scan. The budget of a gateway on this machine also applies. */
async function budgetFor(terminal: Terminal, options: Options, excluded: readonly string[]): Promise<ScanBudget> {
  const { rate = defaultBudget.perDevice.requestsPerSecond, multicast } = options
  const rates = { datagramsPerSecond: rate, connectionsPerSecond: rate, requestsPerSecond: rate }
  const own = {
    ...defaultBudget,
    perDevice: { ...defaultBudget.perDevice, ...rates },
    excludedAddresses: [...excluded],
    ...(multicast === undefined ? {} : { multicast: multicast === 'allow' }),
    // The person at the machine can scan the machine itself.
    localAddresses: true,
  }
  const [{ gatewayHome }, { budgetFileName, readBudget }] = await Promise.all([
    import('../gateway/gateway-home.ts'),
    import('@millwright/gateway/permits/budget-file.ts'),
  ])
  const file = join(gatewayHome(terminal.environment), budgetFileName)
  if (!existsSync(file)) return own
  const gateway = await readBudget(file)
  terminal.note(`The budget of the gateway also applies: ${file}`)
  return {
    ...gateway,
    perDevice: lower(own.perDevice, gateway.perDevice),
    perGateway: lower(own.perGateway, gateway.perGateway),
    excludedAddresses: [...new Set([...own.excludedAddresses, ...gateway.excludedAddresses])],
    multicast: allowsGroups(own) && allowsGroups(gateway),
    localAddresses: true,
  }
}

function lower(one: TrafficLimits, other: TrafficLimits): TrafficLimits {
  return {
    datagramsPerSecond: Math.min(one.datagramsPerSecond, other.datagramsPerSecond),
    connectionsPerSecond: Math.min(one.connectionsPerSecond, other.connectionsPerSecond),
    requestsPerSecond: Math.min(one.requestsPerSecond, other.requestsPerSecond),
    connections: Math.min(one.connections, other.connections),
  }
}

type Plan = {
  links: readonly BuiltInLink[]
  linkOptions: ReadonlyMap<string, readonly LocalOption[]>
  ranges: readonly string[]
  budget: ScanBudget
  options: Options
}

/** Prints the functions that the links would send with their options, the addresses and the budget. */
async function printPlan(terminal: Terminal, { links, linkOptions, ranges, budget, options }: Plan): Promise<void> {
  const plans = links.map(async (link): Promise<PlannedRow[]> => {
    const { sends = [], options: declared = [] } = await manifestOf(link)
    const defaults = declared.map(({ key, default: defaultValue }) => ({ key, defaultValue }))
    const values = Object.fromEntries((linkOptions.get(link.name) ?? []).map(({ key, value }) => [key, value]))
    return plannedFunctions(sends, defaults, values).map((sent) => ({ link: link.name, ...sent }))
  })
  const rows = (await Promise.all(plans)).flat()
  const { perDevice, perGateway, excludedAddresses: excluded } = budget
  const addresses = countAddresses(ranges, excluded)
  const multicast = allowsGroups(budget)
  if (options.json || options.ndjson)
    return terminal.print(
      JSON.stringify({ ranges, excluded, addresses, multicast, perDevice, perGateway, sends: rows }),
    )
  await printFunctions(terminal, rows)
  await terminal.print(
    [
      `Nothing was sent. The scan would visit ${addressesText(addresses)}. No function changes values or settings of a device.`,
      ...(multicast ? [] : ['Multicast and broadcast packets are not allowed: the scan would not send them.']),
      `Budget per device: ${limitsText(perDevice)}`,
      `Budget of all devices together: ${limitsText(perGateway)}`,
    ].join('\n'),
  )
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
    const { options: declared = [], sends = [] } = await manifestOf(link)
    const option = declared.find((one) => one.key === key)
    if (option === undefined) {
      const keys = declared.map((one) => one.key).join(', ')
      throw usageError(`--option ${text}: the link ${name} has the options ${keys}.`)
    }
    await requireType(text, option, value)
    if (sends.some(({ portsOption }) => portsOption === key)) requirePorts(text, key, value)
    byLink.set(name, [...(byLink.get(name) ?? []), { key, type: option.type, value }])
  }
  return byLink
}

/** Refuses a value that the link would refuse, before anything is sent. */
async function requireType(text: string, { key, type }: Parameter, value: string): Promise<void> {
  const { variantOfType, variantTypeOf } = await import('@millwright/api/variant.ts')
  if (variantOfType(variantTypeOf(type), value) === undefined)
    throw usageError(`--option ${text}: the option ${key} must have the type ${type}.`)
}

function requirePorts(text: string, key: string, value: string): void {
  try {
    portsOf({ [key]: value }, key)
  } catch (error) {
    throw usageError(`--option ${text}: ${(error as Error).message}`)
  }
}

/** Prints one line for each device when it is found, and at the end the lines of devices that changed since. */
function lineOutput(terminal: Terminal, found: FoundDevices): LiveOutput {
  const printed = new Map<string, string>()
  let printing = Promise.resolve()
  const show = (device: FoundDevice) => {
    const line = JSON.stringify(device)
    if (printed.get(device.id) === line) return
    printed.set(device.id, line)
    printing = printing.then(() => terminal.print(line))
  }
  return {
    onDevice: (finding) => {
      const device = found.add(finding)
      if (device !== undefined) show(device)
    },
    onProgress: () => undefined,
    finish: async (devices) => {
      for (const device of devices) show(device)
      await printing
      for (const id of printed.keys()) {
        const mergedInto = found.currentId(id)
        if (mergedInto !== id) await terminal.print(JSON.stringify({ id, mergedInto }))
      }
    },
  }
}

const nameWidth = Math.max(...networkLinks.map(({ name }) => name.length))

/** Shows devices and progress while the scan runs, if the output is text. */
function liveOutput(terminal: Terminal, { json }: Options, found: FoundDevices): LiveOutput {
  const progress = new Map<string, number>()
  let devices = 0
  const show = () => {
    const parts = [...progress].map(([name, percent]) => `${name} ${percent} %`)
    terminal.progress(`${formatCount(devices, 'finding')}  ${parts.join('  ')}`)
  }
  return {
    onDevice: (finding) => {
      found.add(finding)
      devices += 1
      if (!json) terminal.note(sanitize(`+ ${finding.link.name.padEnd(nameWidth)} ${rowOf(finding).line}`.trimEnd()))
      show()
    },
    onProgress: (link, percent) => {
      progress.set(link.name, percent)
      show()
    },
    finish: () => Promise.resolve(),
  }
}

function rowOf({ address, asset }: Pick<FoundDevice, 'address' | 'asset'>) {
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
  }
  return {
    ...row,
    line: [row.address, row.name, row.manufacturer, row.product].filter((part) => part !== '').join('  '),
  }
}

function firmwareOf({ software_components: components }: Record<string, unknown>): string {
  if (!Array.isArray(components)) return ''
  const artifacts = components.map(({ artifact }) => artifact).filter((artifact) => artifact?.is_firmware === true)
  return artifacts.flatMap((artifact) => valueAt(artifact, 'asset_identifiers.version') ?? []).join(', ')
}

type PrintOptions = { devices: FoundDevice[]; result: LocalScan; options: Options }

async function print(terminal: Terminal, { devices, result, options }: PrintOptions): Promise<void> {
  const { receipt, errors } = result
  if (options.json)
    return terminal.print(JSON.stringify({ devices, errors: errors.map(errorOf), receipt }, undefined, 2))
  if (options.ndjson) {
    for (const error of errors) await terminal.print(JSON.stringify({ error: errorOf(error) }))
    return terminal.print(JSON.stringify({ receipt }))
  }
  const columns = Object.fromEntries(
    ['address', 'name', 'manufacturer', 'product', 'serial', 'firmware', 'mac', 'links'].map((name) => [name, name]),
  )
  const rows = devices.map((device) => ({ ...rowOf(device), links: device.links.join(', ') }))
  if (devices.length > 0) for (const line of new Table(columns, terminal).lines(rows)) await terminal.print(line)
  for (const { link, error } of errors) for (const line of errorLines(error)) terminal.note(`! ${link.name}: ${line}`)
  await terminal.print('')
  await terminal.print(summaryOf(devices, result))
}

function errorOf({ link, error }: LocalError): object {
  return { link: link.name, ...error }
}

function summaryOf(devices: readonly FoundDevice[], { errors, receipt }: LocalScan): string {
  const addresses = addressesText(addressCount(receipt.devices))
  const seconds = Math.max(1, Math.round((Date.parse(receipt.to) - Date.parse(receipt.from)) / 1_000))
  return [
    `${formatCount(devices.length, 'device')}, ${formatCount(errors.length, 'error')} in ${seconds} s.`,
    `Receipt (not signed): ${totalOf(receipt.totals)} datagrams, connections and requests to ${addresses}`,
    ...sentLines(receipt.totals),
  ].join('\n')
}

/** Returns one line for each protocol, with the numbers of its operations. */
function sentLines(totals: PacketCounts): string[] {
  const byProtocol = Map.groupBy(Object.entries(totals), ([name]) => name.split(' ')[0] ?? name)
  const width = Math.max(0, ...[...byProtocol.keys()].map(displayWidth))
  return [...byProtocol].map(([protocol, counts]) => {
    const operations = counts.map(([name, count]) => `${count} ${name.slice(protocol.length + 1)}`)
    return `  ${pad(protocol, width)}  ${operations.join(', ')}`
  })
}

/** The source of saved devices. A scan is not an edit of a person, so later scans of a gateway replace its values. */
const savedSource = 'millwright scan'

async function save(session: Awaited<ReturnType<typeof connect>>, devices: readonly FoundDevice[]): Promise<void> {
  const results = new BatchResults(session, 'assets')
  for await (const assets of batches(devices.map(({ asset }) => asset))) {
    const accepted = await session
      .api(inventory)
      .createAssets({ body: { data: { assets, meta: { source: savedSource } } }, query: {}, headers: waitHeaders })
    await results.add(await resultsOf(session, accepted))
  }
  await results.finish()
}
