import { parseArgs } from 'node:util'

/**
 * The figures of an installation that the capacity model takes, each with its default, its limits and its meaning.
 */
export const demandOptions = {
  tenants: { default: 1, least: 1, most: 1e6, help: 'tenants' },
  assets: { default: 10_000, least: 0, most: 1e11, help: 'assets of all tenants' },
  gateways: { default: 10, least: 0, most: 1e7, help: 'connected gateways of all tenants' },
  users: { default: 10, least: 0, most: 1e7, help: 'users that work at the same time, each with one event stream' },
  'largest-tenant': {
    default: 5,
    least: 0,
    most: 100,
    help: 'share of the largest tenant in assets and gateways, in percent',
  },
  'requests-per-minute': { default: 10, least: 0, most: 6_000, help: 'requests of a user in a minute' },
  changes: { default: 0.05, least: 0, most: 1_000, help: 'changes of an asset in a day' },
  scans: { default: 1, least: 0, most: 1_000, help: 'scans of an asset in a day' },
  checks: { default: 4, least: 0, most: 1_440, help: 'monitoring checks of an asset in a day' },
  deliveries: { default: 1, least: 0, most: 50, help: 'webhooks that receive a change' },
  'processes-per-tenant': {
    default: 100_000,
    least: 1,
    most: 100_000,
    help: 'processes among which the load balancer distributes the connections of a tenant',
  },
  'peak-factor': { default: 3, least: 1, most: 100, help: 'load of the busiest hour, relative to the average' },
  'history-days': { default: 365, least: 0, most: 36_500, help: 'days for which the history of assets is stored' },
} as const

/** The figures of the machines. */
export const machineOptions = {
  utilisation: { default: 60, least: 1, most: 100, help: 'processor time that is planned for use, in percent' },
  'process-memory': { default: 1_024, least: 256, most: 1e6, help: 'memory limit of a platform process in MiB' },
  'node-cores': { default: 16, least: 1, most: 1_024, help: 'processor cores of a database node' },
  'node-memory': { default: 128, least: 1, most: 1e5, help: 'memory of a database node in GiB' },
  'node-disk': { default: 4_000, least: 1, most: 1e6, help: 'disk space of a database node in GB' },
  'node-connections': { default: 1_000, least: 10, most: 1e5, help: 'connections that a database node accepts' },
  'node-network': { default: 10, least: 0.1, most: 1e4, help: 'network of a database node in Gbit/s' },
  'hot-data': { default: 10, least: 0, most: 100, help: 'share of the assets that must fit into memory, in percent' },
  copies: { default: 2, least: 1, most: 10, help: 'copies of the data: the node itself and its standbys' },
} as const

type Figures<Options> = Record<keyof Options, number>

export type Demand = Figures<typeof demandOptions>
export type Machines = Figures<typeof machineOptions>

const allOptions = { ...demandOptions, ...machineOptions }
type OptionName = keyof typeof allOptions

/** `InvalidFigure` is the error for a flag whose value is not a number within its limits. */
export class InvalidFigure extends Error {}

export type CapacityArguments = {
  demand: Demand
  machines: Machines
  /** True if the arguments contain a figure of the demand. Otherwise the goals of the product are computed. */
  hasDemand: boolean
  json: boolean
  /** True if the figures of the documentation are written again. */
  pages: boolean
  /** The benchmarks to run, separated by commas. Their results replace the stored costs. */
  measure: string | undefined
  /** A file with the results of benchmarks. They replace the stored costs. */
  from: string | undefined
  /** A remark about the machine that is stored with the costs, for example the load of other programs. */
  note: string | undefined
  help: boolean
}

/** Parses the arguments of the command line and checks each figure. */
export function parseCapacityArguments(args: readonly string[]): CapacityArguments {
  const { figures, flags, texts } = readFigures(args, allOptions, {
    command: 'capacity',
    flags: ['json', 'pages', 'help'],
    texts: ['measure', 'from', 'note'],
  })
  const all = <Options extends object>(options: Options) =>
    Object.fromEntries(
      Object.keys(options).map((name) => [name, figures[name] ?? allOptions[name as OptionName].default]),
    ) as Figures<Options>
  return {
    demand: all(demandOptions),
    machines: all(machineOptions),
    hasDemand: Object.keys(demandOptions).some((name) => figures[name] !== undefined),
    json: flags.has('json'),
    pages: flags.has('pages'),
    measure: texts.measure,
    from: texts.from,
    note: texts.note,
    help: flags.has('help'),
  }
}

/** `FigureOption` is a figure that a command takes, with its default, its limits and its meaning. */
export type FigureOption = {
  readonly default: number
  readonly least: number
  readonly most: number
  readonly help: string
}

type CommandOptions = {
  /** The name of the npm script, for error messages. */
  command: string
  flags: readonly string[]
  texts?: readonly string[]
}

type ReadFigures = {
  /** The figures that the arguments contain. */
  figures: Partial<Record<string, number>>
  flags: ReadonlySet<string>
  texts: Partial<Record<string, string>>
}

/** Reads figures from the command line. Throws an `InvalidFigure` for an unknown option or a figure outside its limits. */
export function readFigures(
  args: readonly string[],
  options: Readonly<Record<string, FigureOption>>,
  { command, flags, texts = [] }: CommandOptions,
): ReadFigures {
  const read: ReadFigures & { flags: Set<string> } = { figures: {}, flags: new Set(), texts: {} }
  for (const [name, value] of Object.entries(parse([...args], { options, command, flags, texts }))) {
    const option = options[name]
    if (value === true) read.flags.add(name)
    else if (typeof value !== 'string') continue
    else if (option === undefined) read.texts[name] = value
    else read.figures[name] = figureOf(name, value, option)
  }
  return read
}

function figureOf(name: string, text: string, { least, most, help }: FigureOption): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < least || value > most)
    throw new InvalidFigure(`--${name} (${help}) must be a number from ${least} to ${most}, but is "${text}".`)
  return value
}

type ParsedOptions = Required<CommandOptions> & { options: Readonly<Record<string, FigureOption>> }

function parse(args: string[], { options, command, flags, texts }: ParsedOptions) {
  const all = (names: readonly string[], type: 'string' | 'boolean') =>
    Object.fromEntries(names.map((name) => [name, { type }]))
  try {
    const { values } = parseArgs({
      args,
      options: { ...all([...Object.keys(options), ...texts], 'string'), ...all(flags, 'boolean') },
    })
    return values
  } catch (error) {
    throw new InvalidFigure(`${sentence((error as Error).message)} \`npm run ${command} -- --help\` lists all options.`)
  }
}

function sentence(text: string): string {
  const line = text.replaceAll('\n', ' ')
  return line.endsWith('.') ? line : `${line}.`
}

/** Returns the list of all options with their meaning and default. */
export function optionHelp(): string {
  const line = ([name, { help, default: fallback }]: [string, { help: string; default: number }]) =>
    `  --${name.padEnd(22)}${help} (default ${fallback.toLocaleString('en')})`
  return Object.entries(allOptions).map(line).join('\n')
}

export const defaultDemand = Object.fromEntries(
  Object.entries(demandOptions).map(([name, { default: value }]) => [name, value]),
) as Demand

export const defaultMachines = Object.fromEntries(
  Object.entries(machineOptions).map(([name, { default: value }]) => [name, value]),
) as Machines

/** The goals of the product. Each of the first three goals raises one figure, and the last goal raises all of them. */
export const goals: readonly { name: string; demand: Demand }[] = [
  { name: '10,000 tenants', demand: { ...defaultDemand, tenants: 1e4, assets: 1e7, gateways: 1e4, users: 1e4 } },
  { name: '1 billion assets', demand: { ...defaultDemand, tenants: 1e3, assets: 1e9, gateways: 1e4, users: 1e4 } },
  { name: '100,000 gateways', demand: { ...defaultDemand, tenants: 1e3, assets: 1e7, gateways: 1e5, users: 1e4 } },
  { name: 'all three', demand: { ...defaultDemand, tenants: 1e4, assets: 1e9, gateways: 1e5, users: 2e4 } },
]
