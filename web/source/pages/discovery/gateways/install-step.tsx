import type { GatewayPackage } from '@millwright/api/onboarding.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { gatewayMessages } from './gateway-messages.ts'

/** The pause between two checks whether the gateway package was built in the meantime. */
const checkIntervalMs = 5_000
const buildCommand = 'npm run package'
const checkoutCommand = 'node cli/millwright.mjs gateway --config gateway-config.json'

/**
 * `InstallStep` shows the command that installs and starts the gateway on its machine. A platform in a checkout may have no
 * gateway package. Then the step shows how to build the package, and how to start a gateway without it.
 */
export function InstallStep() {
  const text = useText(gatewayMessages)
  const query = useOperationQuery()
  const found = useQuery({
    ...query(['onboarding', 'getGatewayPackage'], {}),
    refetchInterval: ({ state }) => (state.error?.code === 'package_not_built' ? checkIntervalMs : false),
  })
  if (found.data !== undefined) return <Install found={found.data.data} />
  if (found.error?.code === 'package_not_built') return <NotBuilt />
  if (found.error !== null) return <ProblemMessage failure={found.error} onRetry={() => found.refetch()} />
  return <Loading label={text.loadingPackage} />
}

function Install({ found: { command, version, bytes } }: { found: GatewayPackage }) {
  const text = useText(gatewayMessages)
  const formats = useFormats()
  return (
    <>
      <p>{text.stepStart}</p>
      <CommandLine command={command} label={text.installCommand} />
      <p className="quiet">{text.installDetail(version, formats.bytes(bytes))}</p>
    </>
  )
}

function NotBuilt() {
  const text = useText(gatewayMessages)
  return (
    <>
      <p>{text.notBuilt}</p>
      <CommandLine command={buildCommand} label={text.buildCommand} />
      <p>{text.startFromCheckout}</p>
      <CommandLine command={checkoutCommand} label={text.checkoutCommand} />
    </>
  )
}

function CommandLine({ command, label }: { command: string; label: string }) {
  return (
    <div className="command">
      <code>{command}</code>
      <CopyButton value={command} label={label} />
    </div>
  )
}
