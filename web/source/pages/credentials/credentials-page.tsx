import { useText } from '../../app/language-context.tsx'
import { TabbedPage } from '../../components/tabbed-page.tsx'
import { Instances } from './instances.tsx'
import { credentialMessages } from './messages.ts'
import { Schemas } from './schemas.tsx'
import { Templates } from './templates.tsx'

export function CredentialsPage() {
  const text = useText(credentialMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        instances: { title: text.instances, View: Instances },
        schemas: { title: text.schemas, View: Schemas },
        templates: { title: text.templates, View: Templates },
      }}
    />
  )
}
