import { type Configuration, readConfiguration, text } from '@millwright/cloud/platform/configuration.ts'
import type { Environment } from '../output/terminal.ts'

/**
 * The settings of commands that call a platform. `millwright config` prints these settings after the settings of the
 * platform.
 */
export const clientSettings = {
  url: text('MILLWRIGHT_URL', { default: undefined, help: 'Address of the platform that commands use' }),
  profile: text('MILLWRIGHT_PROFILE', { default: undefined, help: 'Profile that commands use' }),
  token: text('MILLWRIGHT_TOKEN', {
    default: undefined,
    secret: true,
    help: 'Access token to use instead of a profile; requires MILLWRIGHT_URL',
  }),
  clientId: text('MILLWRIGHT_CLIENT_ID', {
    default: undefined,
    help: 'Client id of a service account to use instead of a profile; requires MILLWRIGHT_URL',
  }),
  clientSecret: text('MILLWRIGHT_CLIENT_SECRET', {
    default: undefined,
    secret: true,
    help: 'Secret of MILLWRIGHT_CLIENT_ID',
  }),
  authority: text('MILLWRIGHT_AUTHORITY', {
    default: undefined,
    help: 'File of an authority (PEM) whose certificates commands accept, for a platform with a private authority',
  }),
}

/**
 * The environment variables that the CLI shares with the desktop environment and with a platform on the same machine.
 */
const surroundings = {
  home: text('MILLWRIGHT_HOME', { default: '.millwright', help: 'Folder that may contain first-run.json' }),
  configFolder: text('XDG_CONFIG_HOME', { default: undefined, help: 'Folder of the profiles' }),
  userFolder: text('HOME', {
    default: '/',
    help: 'Folder whose subfolder .config has the profiles if XDG_CONFIG_HOME is not set',
  }),
}

export type ClientConfiguration = Configuration<typeof clientSettings & typeof surroundings>

export async function readClientConfiguration(environment: Environment): Promise<ClientConfiguration> {
  const schema = { ...clientSettings, ...surroundings }
  const own = Object.values(schema).map(({ variable }) => variable)
  const others = Object.keys(environment).filter((name) => name.startsWith('MILLWRIGHT_') && !own.includes(name))
  // The settings of the platform and the gateway are loaded only if a name is not a CLI setting, because loading them
  // takes longer than most commands.
  const alsoKnown = others.length === 0 ? [] : (await import('@millwright/cloud/settings.ts')).allVariables()
  return readConfiguration(schema, environment, alsoKnown)
}
