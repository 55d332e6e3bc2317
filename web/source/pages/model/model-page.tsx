import { useText } from '../../app/language/language-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { modelMessages } from './messages.ts'
import { Properties } from './properties.tsx'
import { Schemas } from './schemas.tsx'

/** `ModelPage` shows the custom properties and the asset schemas of the tenant. */
export function ModelPage() {
  const text = useText(modelMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        properties: { title: text.properties, View: Properties },
        schemas: { title: text.schemas, View: Schemas },
      }}
    />
  )
}
