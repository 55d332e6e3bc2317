import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { usualVendors } from '@millwright/api/link-protocol.ts'
import { tracesUrl } from '@millwright/api/tracing.ts'
import { type LogLevel, logLevels } from './log.ts'
import type { LinkSettings } from './start-link.ts'
import { certifiedName, type LinkTls, requireUsable } from './tls.ts'

/** `UsageError` is an error in the arguments or settings. It is shown to the user as one sentence. */
export class UsageError extends Error {}

const settingTable = {
  host: { default: '127.0.0.1', about: 'address to listen on; 0.0.0.0 for all' },
  port: { default: '0', about: 'port to listen on; 0 selects a free port' },
  'advertised-host': { default: '', about: 'host name for the gateway, if it differs from the host' },
  'advertised-port': { default: '', about: 'port for the gateway, if it differs from the port' },
  registry: {
    default: '127.0.0.1:50051',
    about: 'host:port of the registry of the gateway; "none" for no registration',
  },
  vendors: { default: usualVendors.join(','), about: 'vendor prefixes of the protocol to serve, separated by commas' },
  instance: { default: '', about: 'id of this instance, if a gateway has several instances of the link' },
  home: { default: '', about: 'folder in which the link stores files, such as certificates; it is created if needed' },
  'tls-cert': {
    default: '',
    about: 'certificate of the link (PEM file), for mutual TLS with a gateway on another machine',
  },
  'tls-key': { default: '', about: 'key of the certificate (PEM file)' },
  'tls-authority': { default: '', about: 'certificate of the authority of the gateway (PEM file)' },
  'traces-url': { default: '', about: 'collector for traces (OTLP over HTTP), such as http://10.0.0.9:4318' },
  'log-level': { default: 'info', about: `minimum log level: ${logLevels.join(', ')}` },
} as const
type Name = keyof typeof settingTable

function variableOf(name: string): string {
  return `MILLWRIGHT_LINK_${name.toUpperCase().replaceAll('-', '_')}`
}

/**
 * Reads the settings of a link. Arguments have priority over environment variables, and these have priority over
 * defaults. Returns `help` for `--help`.
 */
export function readSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): LinkSettings | 'help' {
  const values = argumentsOf(args)
  if (values.help === true) return 'help'
  const value = (name: Name) => {
    const text = values[name] ?? environment[variableOf(name)]
    return typeof text === 'string' && text.trim() !== '' ? text.trim() : settingTable[name].default
  }
  const host = value('host')
  const advertisedHost = value('advertised-host') || (isEverywhere(host) ? hostname() : '')
  return {
    host,
    port: portOf('port', value('port')),
    vendors: vendorsOf(value('vendors')),
    logLevel: logLevelOf(value('log-level')),
    ...(value('registry') === 'none' ? {} : { registry: registryOf(value('registry')) }),
    ...(advertisedHost === '' ? {} : { advertisedHost }),
    ...(value('advertised-port') === '' ? {} : { advertisedPort: portOf('advertised-port', value('advertised-port')) }),
    ...(value('instance') === '' ? {} : { instance: value('instance') }),
    ...tlsOf({ certificate: value('tls-cert'), key: value('tls-key'), authority: value('tls-authority') }),
    ...(value('home') === '' ? {} : { home: resolve(value('home')) }),
    ...(value('traces-url') === '' ? {} : { tracesUrl: collectorUrl(value('traces-url')) }),
  }
}

export function helpFor(name: string): string {
  const rows = Object.entries(settingTable).map(([option, { default: fallback, about }]) => {
    const standard = fallback === '' ? '' : ` (${fallback})`
    return `  --${option.padEnd(17)}${variableOf(option).padEnd(33)}${about}${standard}`
  })
  return [`${name}: an asset link. Each setting is an argument or an environment variable.`, '', ...rows, ''].join('\n')
}

function argumentsOf(args: readonly string[]): Record<string, string | boolean | undefined> {
  const options = Object.fromEntries(Object.keys(settingTable).map((name) => [name, { type: 'string' as const }]))
  try {
    return parseArgs({ args: [...args], options: { ...options, help: { type: 'boolean', short: 'h' } } }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error} (see --help)`)
  }
}

/** Reads the three files of the certificate. */
function tlsOf(files: LinkTls): { tls?: LinkTls } {
  const paths = Object.values(files)
  if (paths.every((path) => path === '')) return {}
  if (paths.some((path) => path === ''))
    throw new UsageError(
      `${variableOf('tls-cert')}, ${variableOf('tls-key')} and ${variableOf('tls-authority')} must be set together.`,
    )
  const [certificate = '', key = '', authority = ''] = [files.certificate, files.key, files.authority].map(textOf)
  const tls = { certificate, key, authority }
  try {
    requireUsable(tls)
    certifiedName(tls)
  } catch (error) {
    throw new UsageError(`The certificate ${files.certificate} cannot be used: ${(error as Error).message}`)
  }
  return { tls }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function portOf(name: Name, text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new UsageError(`${variableOf(name)} must be a port from 0 to 65535, but is "${text}".`)
}

function registryOf(text: string): string {
  if (/^(\[[0-9a-fA-F:]+\]|[^\s:]+):\d{1,5}$/.test(text)) return text
  throw new UsageError(`${variableOf('registry')} must be host:port or "none", but is "${text}".`)
}

function collectorUrl(text: string): string {
  const url = tracesUrl(text)
  if (url !== undefined) return url
  throw new UsageError(
    `${variableOf('traces-url')} must be a URL that starts with http:// or https://, without a password.`,
  )
}

function vendorsOf(text: string): string[] {
  const vendors = text.split(',').map((vendor) => vendor.trim())
  if (vendors.every((vendor) => /^[a-z][a-z0-9_]*$/.test(vendor))) return [...new Set(vendors)]
  throw new UsageError(`${variableOf('vendors')} must be lower-case names, separated by commas, but is "${text}".`)
}

function logLevelOf(text: string): LogLevel {
  const level = logLevels.find((one) => one === text)
  if (level !== undefined) return level
  throw new UsageError(`${variableOf('log-level')} must be one of ${logLevels.join(', ')}, but is "${text}".`)
}
