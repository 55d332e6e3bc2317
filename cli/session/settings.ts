import { type Configuration, readConfiguration, text } from '@millwright/cloud/platform/configuration.ts'
import type { Environment } from '../output/terminal.ts'

/** What can be set for commands that speak to a platform; `millwright config` prints it after the platform's own. */
export const clientSettings = {
  url: text('MILLWRIGHT_URL', { default: undefined, help: 'The platform for commands' }),
  profile: text('MILLWRIGHT_PROFILE', { default: undefined, help: 'The profile for commands' }),
  token: text('MILLWRIGHT_TOKEN', {
    default: undefined,
    secret: true,
    help: 'An access token instead of a sign-in; requires MILLWRIGHT_URL',
  }),
  clientId: text('MILLWRIGHT_CLIENT_ID', {
    default: undefined,
    help: 'Client id of a service account instead of a profile; requires MILLWRIGHT_URL',
  }),
  clientSecret: text('MILLWRIGHT_CLIENT_SECRET', {
    default: undefined,
    secret: true,
    help: 'The secret of MILLWRIGHT_CLIENT_ID',
  }),
}

/** What they share with the platform on the same machine, and what the desktop says. */
const surroundings = {
  home: text('MILLWRIGHT_HOME', { default: '.millwright', help: 'Where first-run.json may lie' }),
  configFolder: text('XDG_CONFIG_HOME', { default: undefined, help: 'Where profiles are kept' }),
  userFolder: text('HOME', { default: '/', help: 'Where they are kept otherwise' }),
}

export type ClientConfiguration = Configuration<typeof clientSettings & typeof surroundings>

export async function readClientConfiguration(environment: Environment): Promise<ClientConfiguration> {
  const schema = { ...clientSettings, ...surroundings }
  const own = Object.values(schema).map(({ variable }) => variable)
  const others = Object.keys(environment).filter((name) => name.startsWith('MILLWRIGHT_') && !own.includes(name))
  // Loading the settings of the other programs costs more than most commands.
  const alsoKnown = others.length === 0 ? [] : (await import('@millwright/cloud/settings.ts')).allVariables()
  return readConfiguration(schema, environment, alsoKnown)
}
