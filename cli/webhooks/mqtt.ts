import { events } from '@millwright/api/events.ts'
import { type Command, Option } from 'commander'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addActions, addQueries } from './subscription-commands.ts'
import { subscriptionId, subscriptionKinds } from './subscription-kind.ts'
import { type FieldOptions, fieldsOf, requireChange, requireTypes, withFieldOptions } from './subscription-options.ts'

/** This file adds `millwright mqtt`, which manages MQTT publishers: events that are published on a broker. */

const kind = subscriptionKinds.publisher

type PublisherOptions = FieldOptions & {
  to?: string
  topic?: string
  clientId?: string
  user?: string
  retain?: 'yes' | 'no'
  statusTopic?: string
}

export function addCommands(mqtt: Command, terminal: Terminal): void {
  mqtt.addHelpText(
    'after',
    `
An MQTT publisher publishes events on a broker, with MQTT 5 and QoS 1, as CloudEvents in JSON. An event that the broker does
not confirm is published again for 72 hours. Then it is a dead letter. The host must be in the setting
MILLWRIGHT_OUTBOUND_ALLOW of the platform. The platform publishes only events that the owner of the publisher can read.

Topics can contain {tenant}, {type} (dots become slashes), {kind} and {id} of the subject.

Examples:
  millwright mqtt create mqtts://broker.example.com:8883 --topic 'millwright/{tenant}/{kind}/{id}' --type inventory.asset
  millwright mqtt test broker.example.com
  millwright mqtt deliveries broker.example.com --state failed`,
  )
  addQueries(mqtt, terminal, kind)
  addChanges(mqtt, terminal)
  addActions(mqtt, terminal, kind)
}

function withPublisherOptions(command: Command): Command {
  return withFieldOptions(command)
    .option('--client-id <id>', 'client id of the connection; each publisher needs its own')
    .addOption(new Option('--retain <choice>', 'the broker keeps the last event of each topic').choices(['yes', 'no']))
    .option('--status-topic <topic>', 'topic on which the publisher retains its status, online or offline; or none')
    .option('--user <name>', 'user name at the broker; or none')
}

function addChanges(mqtt: Command, terminal: Terminal): void {
  platformCommand(
    withPublisherOptions(
      mqtt
        .command('create')
        .description(
          'create a publisher; with --user, the command prompts for the password or reads it from standard input',
        )
        .argument('<url>', 'address of the broker, such as mqtts://broker.example.com:8883')
        .requiredOption('--topic <template>', "topic of the events, such as 'millwright/{kind}/{id}'"),
    )
      .option('--no-password', 'the user has no password')
      .option('--paused', 'publish no events until the publisher is resumed'),
    terminal,
    create,
  )

  platformCommand(
    withPublisherOptions(
      mqtt
        .command('update')
        .description(
          'change a publisher; a change of anything but the name makes you its owner; a new broker or authority needs the password again, from a prompt or standard input',
        )
        .argument('<publisher>', 'id or name')
        .option('--to <url>', 'new address of the broker')
        .option('--topic <template>', 'topic of the events'),
    ),
    terminal,
    async (session, nameOrId: string, options: PublisherOptions) => {
      const { to } = options
      const fields = { ...(await dataOf(session, options)), ...(to === undefined ? {} : { url: to }) }
      requireChange(fields)
      const id = await subscriptionId(session, kind, nameOrId)
      const { hasPassword } = (await session.api(events).readMqttPublisher({ params: { id } })).data
      const data = { ...fields, ...(hasPassword ? await passwordFor(session.terminal, options) : {}) }
      const answer = await session.api(events).updateMqttPublisher({ params: { id }, body: { data } })
      await session.output.done(`${nameOrId} changed. Its owner is ${answer.data.owner.name}`, answer)
    },
  )

  platformCommand(
    mqtt
      .command('set-password')
      .description('set the password at the broker; the command prompts for it, or reads it from standard input')
      .argument('<publisher>', 'id or name')
      .option('--remove', 'remove the password: the user has none'),
    terminal,
    async (session, nameOrId: string, { remove = false }: { remove?: boolean }) => {
      const id = await subscriptionId(session, kind, nameOrId)
      const password = remove ? null : await passwordFrom(terminal)
      const answer = await session.api(events).updateMqttPublisher({ params: { id }, body: { data: { password } } })
      await session.output.done(`Password of ${nameOrId} ${remove ? 'removed' : 'changed'}`, answer)
    },
  )
}

type CreateOptions = PublisherOptions & { topic: string; password: boolean; paused?: boolean }

async function create(session: Session, url: string, options: CreateOptions): Promise<void> {
  const { topic, user, paused } = options
  const types = requireTypes(options.type)
  const fields = await dataOf(session, options)
  const hasPassword = user !== undefined && user !== 'none' && options.password
  const password = hasPassword
    ? { password: await passwordFrom(session.terminal, 'a user without a password needs --no-password') }
    : {}
  const data = { ...fields, ...password, url, topic, types, active: paused !== true }
  const answer = await session.api(events).createMqttPublisher({ body: { data } })
  const { id, name } = answer.data
  await session.output.done(`${name} created: ${id}`, answer)
  if (session.output.isText) session.terminal.note(`Test it: ${kind.command} test ${JSON.stringify(name)}`)
}

async function dataOf(session: Session, options: PublisherOptions) {
  const { topic, clientId, user, retain, statusTopic } = options
  return {
    ...(await fieldsOf(session, options)),
    ...(topic === undefined ? {} : { topic }),
    ...(clientId === undefined ? {} : { clientId }),
    ...(user === undefined ? {} : { userName: user === 'none' ? null : user }),
    ...(retain === undefined ? {} : { retain: retain === 'yes' }),
    ...(statusTopic === undefined ? {} : { statusTopic: statusTopic === 'none' ? null : statusTopic }),
  }
}

/**
 * Returns the password that a change needs. A user that is removed has none. The platform does not send the stored password
 * to another broker or with another authority, so the user must enter it again.
 */
async function passwordFor(terminal: Terminal, { to, authority, user }: PublisherOptions) {
  if (user === 'none') return { password: null }
  return to === undefined && authority === undefined ? {} : { password: await passwordFrom(terminal) }
}

const removal = 'a password is removed with millwright mqtt set-password <publisher> --remove'

/**
 * Reads the password from a prompt or standard input, because other users of the machine can see arguments. `otherwise`
 * describes what to do if there is no password.
 */
async function passwordFrom(terminal: Terminal, otherwise = removal): Promise<string> {
  const text = terminal.isInteractive ? await terminal.promptSecret('Password: ') : await terminal.input()
  const password = text.replace(/\r?\n$/, '')
  if (password === '')
    throw usageError('The password is empty.', `enter it at the prompt, or pass it on standard input; ${otherwise}`)
  return password
}
