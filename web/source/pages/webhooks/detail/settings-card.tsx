import { Link } from '@tanstack/react-router'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import type { KeyValueItem } from '../../../components/values/key-value-list.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { PrincipalLink } from '../../../components/values/principal-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { formMessages } from '../form/messages.ts'
import { isPublisher, type Subscription } from '../subscription.ts'
import { detailMessages } from './messages.ts'

/** `SettingsCard` shows what a subscription sends, and where. */
export function SettingsCard({ subscription }: { subscription: Subscription }) {
  const text = useText(detailMessages)
  const fields = useText(formMessages)
  const groups = useGroupNames()
  const { url, types, accessGroup, filter, certificateAuthority, owner, createdTimestamp } = subscription
  const specific = useSpecificItems(subscription)
  return (
    <Card title={text.settings}>
      <KeyValueList
        items={[
          { name: isPublisher(subscription) ? fields.brokerUrl : fields.url, value: <code>{url}</code> },
          {
            name: fields.types,
            value: (
              <ul className="plain-list">
                {types.map((type) => (
                  <li key={type}>
                    <code>{type}*</code>
                  </li>
                ))}
              </ul>
            ),
          },
          {
            name: fields.accessGroup,
            value: accessGroup === null ? fields.allGroups : (groups.get(accessGroup) ?? accessGroup),
          },
          filter !== null && {
            name: fields.filter,
            value: (
              <Link to="/assets" search={{ filter } as never}>
                <code>{filter}</code>
              </Link>
            ),
          },
          ...specific,
          {
            name: fields.authority,
            value: certificateAuthority === null ? text.publicAuthorities : text.privateAuthority,
          },
          { name: text.owner, value: <PrincipalLink id={owner.id} name={owner.name} /> },
          { name: text.created, value: <Time at={createdTimestamp} /> },
        ]}
      />
    </Card>
  )
}

/** Returns the settings that only webhooks or only MQTT publishers have. */
function useSpecificItems(subscription: Subscription): (KeyValueItem | false)[] {
  const text = useText(detailMessages)
  const fields = useText(formMessages)
  const formats = useFormats()
  if (isPublisher(subscription)) {
    const { clientId, userName, hasPassword, topic, retain, statusTopic } = subscription
    return [
      { name: fields.topic, value: <code>{topic}</code> },
      { name: fields.retain, value: retain ? text.yes : text.no },
      statusTopic !== null && { name: fields.statusTopic, value: <code>{statusTopic}</code> },
      { name: fields.clientId, value: <code>{clientId}</code> },
      userName !== null && { name: fields.userName, value: userName },
      { name: fields.password, value: hasPassword ? text.stored : text.none },
    ]
  }
  const { batchSize, previousSecretExpiresTimestamp } = subscription
  return [
    { name: fields.batchSize, value: formats.number(batchSize) },
    previousSecretExpiresTimestamp !== null && {
      name: text.previousSecret,
      value: (
        <>
          {text.validUntil} <Time at={previousSecretExpiresTimestamp} />
        </>
      ),
    },
  ]
}
