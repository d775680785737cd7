"""An answer on its way to a person or a script: parsed (`answer`), shown (`stream`), summed up (`summary`)."""
