import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { type PlannedFunction, plannedFunctions } from '@millwright/api/sent-function.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { scanMessages } from './scan-messages.ts'

type SentFunctionsProps = { link: AssetLink; options: Discovery['discoveryOptions'] }

const transportNames: Readonly<Record<PlannedFunction['transport'], string>> = {
  udp: 'UDP',
  tcp: 'TCP',
  icmp: 'ICMP',
  ethernet: 'Ethernet',
}

/** `SentFunctions` lists what the link sends to devices in a scan with these options. */
export function SentFunctions({ link, options }: SentFunctionsProps) {
  const text = useText(scanMessages)
  if (link.sends === undefined || link.sends.length === 0) return undefined
  const values = Object.fromEntries(options.map(({ key, value }) => [key, value]))
  return (
    <details className="group">
      <summary>{text.sends}</summary>
      <p className="quiet">{text.sendsHint}</p>
      <PlainTable columns={[text.sentFunction, text.sentCode, text.sentPorts, text.sentPurpose]}>
        {plannedFunctions(link.sends, link.options, values).map((sent) => (
          <tr key={`${sent.protocol} ${sent.operation}`}>
            <td>{sent.operation}</td>
            <td>{sent.code}</td>
            <td>{`${transportNames[sent.transport]} ${sent.ports}`}</td>
            <td lang="en">{sent.description}</td>
          </tr>
        ))}
      </PlainTable>
    </details>
  )
}
