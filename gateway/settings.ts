import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { usualVendors } from '@millwright/api/link-protocol.ts'
import { tracesUrl } from '@millwright/api/tracing.ts'
import { type LogLevel, logLevels } from './log.ts'
import { SetupError } from './setup-error.ts'

/**
 * `GatewaySettings` contains the settings of the gateway. The address of the platform is not a setting, because the
 * configuration file of the gateway contains it.
 */
export type GatewaySettings = {
  home: string
  /** The path of gateway-config.json for the enrolment. An enrolled gateway does not need this file. */
  configFile: string
  registryHost: string
  registryPort: number
  /** The port on which agents on this machine reach the platform. The agents need no token. */
  proxyPort: number
  /** The address on which the gateway listens for links and agents on other machines. */
  tlsHost: string | undefined
  /** The port on which links on other machines register. */
  tlsPort: number | undefined
  /** The port on which agents on other machines reach the platform. */
  agentTlsPort: number | undefined
  /** Further DNS names and addresses in the certificate of the gateway. */
  tlsNames: string[]
  /** The vendor prefixes in the package names that links use. The messages are the same for every prefix. */
  linkVendors: string[]
  /** The names of the links that the gateway runs as child processes. `all` stands for all built-in links. */
  links: string[]
  /** The size limit of the spool. */
  spoolBytes: number
  /** The maximum time between two messages of a link during a scan. */
  linkSilenceMs: number
  /** The size limit of the artefact cache. */
  artefactCacheBytes: number
  /** The HTTP proxy for requests to the platform. */
  outgoingProxy: string | undefined
  logLevel: LogLevel
  /** The URL of the collector for traces. */
  tracesUrl: string | undefined
}

type Setting<Value> = {
  variable: string
  /** The default value. */
  fallback: string
  help: string
  parse: (text: string, variable: string) => Value
}

/**
 * The environment variable of the time after which a silent link fails its scan. The error message of such a scan
 * contains the name of the variable.
 */
export const silenceVariable = 'MILLWRIGHT_GATEWAY_LINK_SILENCE_SECONDS'

/** The environment variable of the size limit of the artefact cache. The error for a larger artefact contains its name. */
export const cacheVariable = 'MILLWRIGHT_GATEWAY_ARTEFACT_CACHE_MB'

const mebibyte = 1024 * 1024

export const gatewaySettings = {
  home: {
    variable: 'MILLWRIGHT_GATEWAY_HOME',
    fallback: '.millwright/gateway',
    help: 'Folder for the key, the registry and the spool; npm start uses the folder gateway in MILLWRIGHT_HOME',
    parse: (text: string) => resolve(text),
  },
  configFile: {
    variable: 'MILLWRIGHT_GATEWAY_CONFIG',
    fallback: '',
    help: 'Configuration file from the platform; default: gateway-config.json in the home',
    parse: (text: string) => text,
  },
  registryHost: {
    variable: 'MILLWRIGHT_GATEWAY_REGISTRY_HOST',
    fallback: '127.0.0.1',
    help: 'Address where links register',
    parse: (text: string) => text,
  },
  registryPort: {
    variable: 'MILLWRIGHT_GATEWAY_REGISTRY_PORT',
    fallback: '50051',
    help: 'Port where links register; 0 selects a free port',
    parse: wholeNumber(0, 65_535),
  },
  proxyPort: {
    variable: 'MILLWRIGHT_GATEWAY_PROXY_PORT',
    fallback: '8090',
    help: 'Port on this machine where agents reach the platform without a token; 0 selects a free port',
    parse: wholeNumber(0, 65_535),
  },
  tlsHost: {
    variable: 'MILLWRIGHT_GATEWAY_TLS_HOST',
    fallback: '',
    help: 'Address where the gateway listens for links and agents on other machines, with mutual TLS; 0.0.0.0 for all',
    parse: (text: string) => (text === '' ? undefined : text),
  },
  tlsPort: {
    variable: 'MILLWRIGHT_GATEWAY_TLS_PORT',
    fallback: '',
    help: 'Port where links on other machines register with mutual TLS, such as 50052; default: off',
    parse: optionalPort,
  },
  agentTlsPort: {
    variable: 'MILLWRIGHT_GATEWAY_AGENT_TLS_PORT',
    fallback: '',
    help: 'Port where agents on other machines reach the platform with mutual TLS, such as 8091; default: off',
    parse: optionalPort,
  },
  tlsNames: {
    variable: 'MILLWRIGHT_GATEWAY_TLS_NAMES',
    fallback: '',
    help: 'Further DNS names and addresses of this machine for links and agents, separated by commas',
    parse: hostNames,
  },
  linkVendors: {
    variable: 'MILLWRIGHT_LINK_VENDORS',
    fallback: usualVendors.join(','),
    help: 'Package prefixes of links, separated by commas',
    parse: vendors,
  },
  links: {
    variable: 'MILLWRIGHT_GATEWAY_LINKS',
    fallback: 'none',
    help: 'Built-in links that the gateway runs, such as plant,snmp; all or none; npm start runs all of them. millwright gateway links enable and disable override it',
    parse: linkNames,
  },
  spoolBytes: {
    variable: 'MILLWRIGHT_GATEWAY_SPOOL_MIB',
    fallback: '256',
    help: 'Maximum size of the spool in mebibytes, for findings while the platform cannot be reached',
    parse: (text: string, variable: string) => wholeNumber(4, 65_536)(text, variable) * mebibyte,
  },
  linkSilenceMs: {
    variable: silenceVariable,
    fallback: '300',
    help: 'Seconds without a message of the link after which a scan or an update fails',
    parse: (text: string, variable: string) => wholeNumber(1, 86_400)(text, variable) * 1_000,
  },
  artefactCacheBytes: {
    variable: cacheVariable,
    fallback: '4096',
    help: 'Maximum size of the artefact cache in megabytes; the largest artefact that the gateway can install must fit into it',
    parse: (text: string, variable: string) => wholeNumber(1, 1_048_576)(text, variable) * mebibyte,
  },
  outgoingProxy: {
    variable: 'MILLWRIGHT_GATEWAY_HTTP_PROXY',
    fallback: '',
    help: 'HTTP proxy for the connection to the platform, such as http://proxy.plant.example:3128',
    parse: proxyUrl,
  },
  logLevel: {
    variable: 'MILLWRIGHT_GATEWAY_LOG_LEVEL',
    fallback: 'info',
    help: `Log level (JSON lines on stderr): ${logLevels.join(', ')}`,
    parse: logLevel,
  },
  tracesUrl: {
    variable: 'MILLWRIGHT_GATEWAY_TRACES_URL',
    fallback: '',
    help: 'Collector for the traces of the gateway and of the links that it runs (OTLP over HTTP), such as http://10.0.0.9:4318; default: off',
    parse: collectorUrl,
  },
} as const satisfies { [Name in keyof GatewaySettings]: Setting<GatewaySettings[Name]> }

function wholeNumber(minimum: number, maximum: number): (text: string, variable: string) => number {
  return (text, variable) => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= minimum && number <= maximum) return number
    throw new SetupError(`${variable} must be a whole number from ${minimum} to ${maximum}, but is "${text}".`)
  }
}

function optionalPort(text: string, variable: string): number | undefined {
  return text === '' ? undefined : wholeNumber(0, 65_535)(text, variable)
}

function hostNames(text: string, variable: string): string[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '')
  const wrong = names.find((name) => isIP(name) === 0 && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(name))
  if (wrong === undefined) return names
  throw new SetupError(`${variable} must be a list of DNS names and IP addresses, but contains "${wrong}".`)
}

function vendors(text: string, variable: string): string[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '')
  const wrong = names.find((name) => !/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/.test(name))
  if (wrong !== undefined) {
    throw new SetupError(
      `${variable} must be a list of package prefixes such as millwright,siemens, but contains "${wrong}".`,
    )
  }
  if (names.length === 0) throw new SetupError(`${variable} must contain at least one prefix, such as millwright.`)
  return names
}

function linkNames(text: string, variable: string): string[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '')
  if (names.length === 1 && names[0] === 'none') return []
  const wrong = names.find((name) => !/^[a-z][a-z0-9-]*$/.test(name) || name === 'none')
  if (wrong === undefined) return names
  throw new SetupError(`${variable} must be all, none, or a list of links such as plant,snmp, but contains "${wrong}".`)
}

function proxyUrl(text: string, variable: string): string | undefined {
  if (text === '') return undefined
  if (/^https?:\/\/./.test(text) && URL.canParse(text)) return text
  throw new SetupError(`${variable} must be a URL that starts with http:// or https://.`)
}

function collectorUrl(text: string, variable: string): string | undefined {
  if (text === '') return undefined
  const url = tracesUrl(text)
  if (url !== undefined) return url
  throw new SetupError(`${variable} must be a URL that starts with http:// or https://, without a password.`)
}

function logLevel(text: string, variable: string): LogLevel {
  const level = logLevels.find((name) => name === text)
  if (level !== undefined) return level
  throw new SetupError(`${variable} must be one of ${logLevels.join(', ')}, but is "${text}".`)
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Matches the variables whose names are checked. All other variables are ignored, because variables of the cloud and of
 * links may be set on the same machine.
 */
const ours = /^MILLWRIGHT_GATEWAY_/

/** Reads the settings. Throws a `SetupError` for an invalid value and for an unknown variable. */
export function readSettings(environment: Environment): GatewaySettings {
  const variables = Object.values(gatewaySettings).map(({ variable }) => variable)
  const unknown = Object.keys(environment).find((name) => ours.test(name) && !variables.some((one) => one === name))
  if (unknown !== undefined)
    throw new SetupError(`Unknown setting ${unknown}. Settings of the gateway: ${variables.join(', ')}.`)
  const read = <Value>({ variable, fallback, parse }: Setting<Value>): Value => {
    const value = environment[variable]
    return parse(value === undefined || value === '' ? fallback : value, variable)
  }
  const home = read(gatewaySettings.home)
  return {
    home,
    configFile: resolve(read(gatewaySettings.configFile) || join(home, 'gateway-config.json')),
    registryHost: read(gatewaySettings.registryHost),
    registryPort: read(gatewaySettings.registryPort),
    proxyPort: read(gatewaySettings.proxyPort),
    ...tlsSettings({
      tlsHost: read(gatewaySettings.tlsHost),
      tlsPort: read(gatewaySettings.tlsPort),
      agentTlsPort: read(gatewaySettings.agentTlsPort),
      tlsNames: read(gatewaySettings.tlsNames),
    }),
    linkVendors: read(gatewaySettings.linkVendors),
    links: read(gatewaySettings.links),
    spoolBytes: read(gatewaySettings.spoolBytes),
    linkSilenceMs: read(gatewaySettings.linkSilenceMs),
    artefactCacheBytes: read(gatewaySettings.artefactCacheBytes),
    outgoingProxy: read(gatewaySettings.outgoingProxy),
    logLevel: read(gatewaySettings.logLevel),
    tracesUrl: read(gatewaySettings.tracesUrl),
  }
}

/** Requires an explicit address for the ports with TLS, because these ports are reachable from other machines. */
function tlsSettings<Settings extends Pick<GatewaySettings, 'tlsHost' | 'tlsPort' | 'agentTlsPort'>>(
  settings: Settings,
): Settings {
  const { tlsHost, tlsPort, agentTlsPort } = settings
  const { variable } = gatewaySettings.tlsHost
  if (tlsHost === undefined && (tlsPort ?? agentTlsPort) !== undefined)
    throw new SetupError(
      `A port for links or agents on other machines is set, but ${variable} is not: set it to the address on which the gateway listens, such as 10.0.0.5, or to 0.0.0.0 for all addresses.`,
    )
  return settings
}
