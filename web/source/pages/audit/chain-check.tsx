import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/user-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { Waiting } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Facts } from '../../components/values/property-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { auditMessages } from './messages.ts'

type Verdict = Output<'audit', 'verify'>['data']
type Check = { state: 'walking' } | { state: 'done'; verdict: Verdict } | { state: 'failed'; failure: unknown }

/** Walks the hash chain on the platform and says whether it is whole. */
export function ChainCheck() {
  const text = useText(auditMessages)
  const api = useApi()
  const [check, setCheck] = useState<Check>()
  const walk = async () => {
    setCheck({ state: 'walking' })
    try {
      setCheck({ state: 'done', verdict: (await api.audit.verify({})).data })
    } catch (failure) {
      setCheck({ state: 'failed', failure })
    }
  }
  return (
    <>
      <IxButton variant="secondary" onClick={walk}>
        {text.verify}
      </IxButton>
      {check !== undefined && (
        <Dialog title={text.verify} onClose={() => setCheck(undefined)}>
          {check.state === 'walking' && <Waiting />}
          {check.state === 'failed' && <ProblemMessage failure={check.failure} onRetry={walk} />}
          {check.state === 'done' && <Told verdict={check.verdict} />}
        </Dialog>
      )}
    </>
  )
}

function Told({ verdict: { intact, checked, head, firstFault } }: { verdict: Verdict }) {
  const text = useText(auditMessages)
  const formats = useFormats()
  return (
    <>
      <p>
        <StatusChip tone={intact ? 'good' : 'bad'}>
          {intact ? text.intact(formats.number(checked)) : text.broken(String(firstFault?.sequence ?? '?'))}
        </StatusChip>
      </p>
      {firstFault !== null && <p>{firstFault.detail}</p>}
      <Facts facts={[head !== null && { name: text.place, value: `${head.sequence}: ${head.hash}` }]} />
    </>
  )
}
