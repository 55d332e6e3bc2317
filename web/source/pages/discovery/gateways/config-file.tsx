import { IxButton } from '@siemens/ix-react'
import { useEffect, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { download } from '../../../components/actions/download.ts'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { gatewayMessages } from './gateway-messages.ts'

const secondMs = 1_000

/**
 * `ConfigFile` downloads the configuration file of a gateway and shows how long the file is valid. The content of the
 * file is never displayed.
 */
export function ConfigFile({ gatewayId }: { gatewayId: string }) {
  const text = useText(gatewayMessages)
  const api = useApi()
  const [expires, setExpires] = useState<string>()
  const [failure, setFailure] = useState<unknown>()
  const createFile = async () => {
    try {
      setFailure(undefined)
      const config = await api.onboarding.createGatewayConfig({ params: { id: gatewayId } })
      download(new Blob([JSON.stringify(config, null, 2)], { type: 'application/json' }), 'gateway-config.json')
      setExpires(config.expiresTimestamp)
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <>
      <div className="config-file">
        <IxButton variant={expires === undefined ? 'primary' : 'secondary'} onClick={createFile}>
          {expires === undefined ? text.download : text.downloadAgain}
        </IxButton>
        {expires !== undefined && <Countdown until={expires} />}
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} onRetry={createFile} />}
    </>
  )
}

function Countdown({ until }: { until: string }) {
  const text = useText(gatewayMessages)
  const formats = useFormats()
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), secondMs)
    return () => clearInterval(timer)
  }, [])
  const leftMs = Date.parse(until) - now
  return (
    <span className="quiet" role="timer">
      {leftMs > 0 ? text.validFor(formats.duration(leftMs)) : text.expired}
    </span>
  )
}
