import { identity } from '@millwright/api/identity.ts'
import { type SignInPolicy, type StepUpAction, signInLimits, stepUpActions } from '@millwright/api/sign-in-security.ts'
import { type Command, Option } from 'commander'
import { usageError } from '../output/error-report.ts'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type PolicyOptions = Partial<Omit<SignInPolicy, 'stepUp'>> & { stepUp?: string }

/** Adds the command for the sign-in policy of the tenant. */
export function addSignInPolicy(access: Command, terminal: Terminal): void {
  const { stepUpMinutes, idleMinutes, absoluteHours } = signInLimits
  platformCommand(
    access
      .command('policy')
      .description('show or change the sign-in policy of the tenant')
      .addOption(
        new Option('--second-factor <users>', 'local accounts that must have a second factor').choices([
          'nobody',
          'administrators',
          'everyone',
        ]),
      )
      .option(
        '--step-up <actions>',
        `actions that require a recent confirmation, separated by commas: ${stepUpActions.join(', ')}; or none`,
      )
      .option(
        '--step-up-minutes <minutes>',
        'how long a confirmation is valid',
        wholeNumber(stepUpMinutes.minimum, stepUpMinutes.maximum),
      )
      .option(
        '--idle-minutes <minutes>',
        'a session ends after this time without use',
        wholeNumber(idleMinutes.minimum, idleMinutes.maximum),
      )
      .option(
        '--absolute-hours <hours>',
        'a session ends after this time, even if it is used',
        wholeNumber(absoluteHours.minimum, absoluteHours.maximum),
      ),
    terminal,
    policy,
  ).addHelpText(
    'after',
    `
Without options, the command shows the policy. With options, it changes these values and keeps the others. Changes apply to
existing sessions too.

Examples:
  millwright access policy
  millwright access policy --step-up credentials,remote-access,updates,access --step-up-minutes 15
  millwright access policy --idle-minutes 60 --absolute-hours 12`,
  )
}

async function policy(session: Session, options: PolicyOptions): Promise<void> {
  const client = session.api(identity)
  const { secondFactor, stepUp, stepUpMinutes, idleMinutes, absoluteHours } = options
  const data = {
    ...(secondFactor === undefined ? {} : { secondFactor }),
    ...(stepUp === undefined ? {} : { stepUp: actionsIn(stepUp) }),
    ...(stepUpMinutes === undefined ? {} : { stepUpMinutes }),
    ...(idleMinutes === undefined ? {} : { idleMinutes }),
    ...(absoluteHours === undefined ? {} : { absoluteHours }),
  }
  const answer =
    Object.keys(data).length === 0
      ? await client.readSignInPolicy({})
      : await client.updateSignInPolicy({ body: { data } })
  if (!session.output.isText) return session.output.show(answer)
  const shown = { ...answer.data, stepUp: answer.data.stepUp.length === 0 ? 'none' : answer.data.stepUp }
  await session.output.show({ data: shown })
}

/** Parses a list of actions, such as `credentials,updates`, or `none`. */
function actionsIn(text: string): StepUpAction[] {
  if (text.trim() === 'none') return []
  const actions = text.split(',').map((part) => {
    const action = stepUpActions.find((name) => name === part.trim())
    if (action !== undefined) return action
    throw usageError(`"${part.trim()}" is not an action.`, `use ${stepUpActions.join(', ')}, or none`)
  })
  return [...new Set(actions)]
}
