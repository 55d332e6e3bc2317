import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Environment, gatewaySettings, readSettings } from '@millwright/gateway/settings.ts'
import type { Terminal } from '../output/terminal.ts'

/** The file that a gateway writes when it has enrolled. */
const identityFile = 'identity.json'

/**
 * Returns the home of the gateway on this machine: the given folder, that of the setting, or that of the gateway that
 * `npm start` runs in the home of the platform.
 */
export function gatewayHome(environment: Environment, given?: string): string {
  const { variable } = gatewaySettings.home
  const ofPlatform = resolve(environment.MILLWRIGHT_HOME || '.millwright', 'gateway')
  const isGiven = given !== undefined || (environment[variable] ?? '') !== ''
  if (!isGiven && existsSync(join(ofPlatform, identityFile))) return ofPlatform
  return readSettings({ ...environment, ...(given === undefined ? {} : { [variable]: given }) }).home
}

/** Warns if no gateway has enrolled in the home: then a change has no effect on a gateway that runs elsewhere. */
export function noteMissingGateway({ note }: Pick<Terminal, 'note'>, home: string): void {
  if (existsSync(join(home, identityFile))) return
  note(`There is no gateway in ${home}. If your gateway has another home, pass it with --home.`)
}
